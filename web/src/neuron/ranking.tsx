/** The ranking beside the neuron view: which neurons carry the score, and how few do. */

import { shown } from "../parts/numbers";
import type { Carrier } from "./score";

interface Props {
  carriers: readonly Carrier[];
  title: string;
  about: string;
  neuron: number | null;
  onNeuron: (neuron: number | null) => void;
  facts: readonly (readonly [string, string])[];
}

const LISTED = 12;

/** The share of the first `count` of a ranking. */
export function carried(carriers: readonly Carrier[], count: number): number {
  return carriers.slice(0, count).reduce((sum, one) => sum + one.share, 0);
}

export function Ranking({ carriers, title, about, neuron, onNeuron, facts }: Props) {
  const parts = carriers.slice(0, LISTED).map(({ part }) => part);
  const [low, high] = [Math.min(0, ...parts), Math.max(0, ...parts)];
  const place = (value: number) => `${(100 * (value - low)) / (high - low || 1)}%`;
  return (
    <aside class="nv-ranking" aria-label="Neurons that carry the score">
      <h3>{title}</h3>
      {facts.length > 0 && (
        <dl class="nv-facts">
          {facts.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      )}
      <ol onPointerLeave={() => onNeuron(null)}>
        {carriers.slice(0, LISTED).map((one, rank) => (
          <li
            key={one.neuron}
            class={`nv-carrier${one.neuron === neuron ? " nv-chosen" : ""}${rank < 5 ? " nv-top" : ""}`}
            data-neuron={one.neuron}
            data-part={one.part}
            title={`neuron ${one.neuron}: ${shown(one.part)}, ${(100 * one.share).toFixed(1)} % of the total size`}
            onPointerEnter={() => onNeuron(one.neuron)}
          >
            <span class="nv-rank">{rank + 1}</span>
            <span class="nv-name">neuron {one.neuron}</span>
            <svg class="nv-part" aria-hidden="true">
              <line x1={place(0)} x2={place(0)} y1="0" y2="100%" />
              <rect
                class={one.part < 0 ? "hp-below" : "hp-above"}
                x={place(Math.min(0, one.part))}
                width={place(low + Math.abs(one.part))}
                y="20%"
                height="60%"
              />
            </svg>
            <span class="nv-number">{shown(one.part)}</span>
          </li>
        ))}
      </ol>
      <p class="at-about">
        {carriers.length > 0 &&
          `The top 1, 4 and 8 of ${carriers.length} neurons carry ${[1, 4, 8].map((count) => `${Math.round(100 * carried(carriers, count))} %`).join(", ")} of the total size. `}
        {about}
      </p>
    </aside>
  );
}
