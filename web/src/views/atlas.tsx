/** The atlas view: layers x heads, coloured by anything that the atlas knows. */

import { AtlasFrame, type PlotProps } from "./atlasframe";
import { HeadGrid } from "./headgrid";
import type { View, ViewProps } from "./view";
import "./atlas.css";

function Plot({ look, size, describe, choose, setHovered }: PlotProps) {
  return (
    <HeadGrid
      grid={look.stack}
      colours={look.colours}
      bright={look.bright}
      framed={look.selected}
      current={look.current}
      room={size.width - 24}
      largest={44}
      label={look.colouring?.title ?? "Heads"}
      describe={describe}
      onHover={setHovered}
      onChoose={choose}
    />
  );
}

function AtlasView(props: ViewProps) {
  return <AtlasFrame props={props} plot={Plot} />;
}

export const atlasView: View = {
  name: "atlas",
  title: "Atlas",
  about:
    "All heads, coloured by a measure, kind, relation or effect; a click opens a head's page, Shift + click selects.",
  needs: "atlas",
  controls: [],
  component: AtlasView,
};
