/** The atlas view: layers x heads, coloured by anything that the atlas knows. */

import { cellOf, gridWidth, HeadGrid } from "../parts/headgrid";
import type { View, ViewProps } from "../shell/view";
import { ATLAS_KEYS, AtlasFrame, type Plot, type PlotProps } from "./frame";
import { ATLAS_SETTINGS } from "./settings";
import "./atlas.css";

function Picture({ look, size, describe, choose, setHovered }: PlotProps) {
  return (
    <HeadGrid
      grid={look.stack}
      colours={look.colours}
      texts={look.texts}
      bright={look.bright}
      framed={look.selected}
      current={look.current}
      room={size.width}
      tall={size.height}
      label={look.colouring?.title ?? "Heads"}
      describe={describe}
      onHover={setHovered}
      onChoose={choose}
    />
  );
}

const GRID: Plot = {
  picture: (given) => <Picture {...given} />,
  width: ({ stack }, room) => gridWidth(stack, cellOf(stack, room.width, room.height)),
};

function AtlasView(props: ViewProps) {
  return <AtlasFrame props={props} plot={GRID} />;
}

export const atlasView: View = {
  name: "atlas",
  title: "Atlas",
  about:
    "All heads, coloured by a measure, kind, relation or effect; a click opens a head's page, Shift + click selects.",
  needs: "atlas",
  controls: [],
  settings: ATLAS_SETTINGS,
  keys: ATLAS_KEYS,
  component: AtlasView,
};
