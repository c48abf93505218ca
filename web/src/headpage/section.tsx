/** A section of a head's page: what one analysis says of the head. */

import { useEffect, useRef } from "preact/hooks";
import type { ExampleMap, NearHead, Section } from "../data/api";
import { prepare } from "../parts/canvas";
import { placed, rampColour, type Scale } from "../parts/colour";
import { shown } from "../parts/numbers";
import type { SetState } from "../shell/state";
import { Picture } from "./charts";
import { StackedBar, StackedLegend } from "./stacked";

interface Props {
  section: Section;
  dark: boolean;
  scale: Scale;
  setState: SetState;
}

export function SectionCard({ section, dark, scale, setState }: Props) {
  const { title, said = [], charts = [], heads = [], map, about, folded = [], stacked } = section;
  return (
    <section class="hp-section" data-section={section.key}>
      <h3>{title}</h3>
      {said.map((line) => (
        <p class="hp-said" key={line}>
          {line}
        </p>
      ))}
      {stacked?.heads[0] && (
        <>
          <StackedBar names={stacked.names} shares={stacked.heads[0]} dark={dark} />
          <StackedLegend names={stacked.names} dark={dark} />
        </>
      )}
      {charts.map((chart, index) => (
        <Picture key={index} chart={chart} name={title} />
      ))}
      {heads.length > 0 && <Nearest heads={heads} setState={setState} />}
      {map && <ExamplePicture map={map} dark={dark} scale={scale} />}
      {about && <p class="hp-about">{about}</p>}
      {folded.length > 0 && (
        <details class="hp-folded">
          <summary>{section.folded_title}</summary>
          {folded.map((chart, index) => (
            <Picture key={index} chart={chart} name={title} />
          ))}
        </details>
      )}
    </section>
  );
}

function Nearest({ heads, setState }: { heads: readonly NearHead[]; setState: SetState }) {
  const open = (name: string) => {
    const found = /(\d+)\.(\d+)$/.exec(name);
    if (found) setState({ layer: Number(found[1]), heads: [Number(found[2])] });
  };
  return (
    <p class="hp-near">
      {heads.map(({ head, distance, note }, rank) => (
        <button type="button" class="hp-link" key={rank} onClick={() => open(head)}>
          {head}{" "}
          <small>
            ({shown(distance, 3, 1)}
            {note && `, ${note}`})
          </small>
        </button>
      ))}
    </p>
  );
}

const WIDE = 180;

/** The head's attention on one text of the corpus, as a small picture. */
function ExamplePicture({ map, dark, scale }: { map: ExampleMap; dark: boolean; scale: Scale }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const rows = map.cells.length;
  const columns = map.cells[0]?.length ?? 0;
  const tall = columns > 0 ? Math.round(Math.min(320, (WIDE * rows) / columns)) : 0;
  useEffect(() => {
    if (canvas.current === null || columns === 0) return;
    const context = prepare(canvas.current, WIDE, tall);
    map.cells.forEach((row, down) => {
      row.forEach((weight, across) => {
        if (weight === null) return;
        context.fillStyle = rampColour("share", dark, placed(weight, scale === "max" ? "root" : scale));
        const [left, top] = [Math.floor((across * WIDE) / columns), Math.floor((down * tall) / rows)];
        context.fillRect(
          left,
          top,
          Math.floor(((across + 1) * WIDE) / columns) - left,
          Math.floor(((down + 1) * tall) / rows) - top,
        );
      });
    });
  }, [map, dark, scale]);
  const size = map.queries === null || map.keys === null ? "" : `, ${map.queries} x ${map.keys} tokens`;
  return columns === 0 ? null : (
    <canvas ref={canvas} class="hp-map" role="img" aria-label={`Attention on one text${size}`} />
  );
}
