/** The small charts of a head's page: bars or columns, with intervals and marks. */

import type { Bar, Chart } from "../data/api";
import { largestOf, shown } from "../parts/numbers";

/** The stretch of numbers that bars are drawn on: 0 is always in it, and everything that is drawn. */
export function barRange(bars: readonly Bar[]): [number, number] {
  let [low, high] = [0, 0];
  for (const bar of bars) {
    for (const value of [bar.value, bar.low, bar.high, bar.mark, bar.moved, bar.moved_high]) {
      if (value === null || value === undefined || !Number.isFinite(value)) continue;
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
  }
  return high > low ? [low, high] : [0, 1];
}

function words(bar: Bar, among: number): string {
  const say = (value: number | null) => shown(value, 3, among);
  const ends = (low: number | null | undefined, high: number | null | undefined) =>
    low != null && high != null ? ` (${say(low)} to ${say(high)})` : "";
  const moves = bar.moved != null ? `; moves ${say(bar.moved)}${ends(bar.moved_low, bar.moved_high)}` : "";
  const mark = bar.mark != null ? `; ${bar.mark_name || "to compare"}: ${say(bar.mark)}` : "";
  return `${bar.label}: ${say(bar.value)}${ends(bar.low, bar.high)}${moves}${mark}${bar.note ? `; ${bar.note}` : ""}`;
}

/** A bar with its interval and its mark. */
function Track({ bar, range: [low, high] }: { bar: Bar; range: readonly [number, number] }) {
  const two = bar.moved != null;
  const place = (value: number) => `${(100 * (Math.max(low, Math.min(high, value)) - low)) / (high - low)}%`;
  return (
    <svg class="hp-bar-track" aria-hidden="true">
      {bar.value !== null && (
        <rect
          class={`${(bar.worse ?? bar.value < 0) ? "hp-below" : "hp-above"}${bar.pale ? " hp-unsure" : ""}`}
          x={place(Math.min(0, bar.value))}
          width={place(low + Math.abs(bar.value))}
          y={two ? "5%" : "20%"}
          height={two ? "48%" : "60%"}
        />
      )}
      {bar.moved != null && <rect class="hp-moved" x={place(0)} width={place(low + bar.moved)} y="57%" height="38%" />}
      {low < 0 && <line class="hp-zero" x1={place(0)} x2={place(0)} y1="0" y2="100%" />}
      {bar.low != null && bar.high != null && (
        <line
          class="hp-whisker"
          x1={place(bar.low)}
          x2={place(bar.high)}
          y1={two ? "29%" : "50%"}
          y2={two ? "29%" : "50%"}
        />
      )}
      {bar.mark != null && <line class="hp-mark" x1={place(bar.mark)} x2={place(bar.mark)} y1="5%" y2="95%" />}
    </svg>
  );
}

/** How strong a share is beside what it is held against, by itself. */
export function Strength({ bar }: { bar: Bar }) {
  const said = words(bar, 1);
  return (
    <span class="hp-strength" role="img" aria-label={said} title={said}>
      <Track bar={bar} range={[0, 1]} />
    </span>
  );
}

/** One row a bar: its name, the bar with interval and mark, the number. */
function Bars({ bars, is_share }: Chart) {
  const [low, high] = is_share ? [0, 1] : barRange(bars);
  const among = largestOf([low, high]);
  return (
    <div class="hp-bars" role="list">
      {bars.map((bar) => (
        <div
          class="hp-bar"
          role="listitem"
          key={bar.label}
          title={words(bar, among)}
          data-label={bar.label}
          data-value={bar.value}
        >
          <span class="hp-bar-name">{bar.label}</span>
          <Track bar={bar} range={[low, high]} />
          <span class="hp-bar-number">
            {shown(bar.value, 3, among)}
            {bar.moved != null && <small data-moved={bar.moved}>{shown(bar.moved, 3, among)}</small>}
          </span>
        </div>
      ))}
    </div>
  );
}

const WIDE = 320;
const TALL = 120;
const [LEFT, RIGHT, TOP] = [34, 4, 6];

/** Round steps that cut a stretch into about `count` parts. */
export function ticks(low: number, high: number, count: number): number[] {
  if (!(high > low)) return [low];
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10);
  const found: number[] = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high + step * 1e-9; tick += step)
    found.push(Math.abs(tick) < step * 1e-9 ? 0 : tick);
  return found;
}

/** Columns side by side, with error bars and ticks to compare with. */
function Columns({ bars: columns, caption, name }: Chart & { name: string }) {
  const top = Math.max(
    1e-9,
    ...columns.map(({ value, high, mark, moved }) => Math.max(value ?? 0, high ?? 0, mark ?? 0, moved ?? 0)),
  );
  const ticked = columns.some(({ tick }) => tick);
  const floor = TALL - (ticked ? 30 : 18);
  const step = (WIDE - LEFT - RIGHT) / columns.length;
  const two = columns.some(({ moved }) => moved != null);
  const thick = Math.min(14, 0.7 * step) / (two ? 2 : 1);
  const x = (index: number) => LEFT + (index + 0.5) * step - (two ? thick / 2 : 0);
  const y = (value: number) => floor - ((floor - TOP) * Math.max(0, value)) / top;
  return (
    <svg class="hp-profile" viewBox={`0 0 ${WIDE} ${TALL}`} role="img" aria-label={`${name}: ${caption ?? ""}`}>
      {ticks(0, top, 3).map((tick) => (
        <g key={tick}>
          <line class="hp-rule" x1={LEFT} x2={WIDE - RIGHT} y1={y(tick)} y2={y(tick)} />
          <text class="hp-tick" x={LEFT - 5} y={y(tick) + 4} text-anchor="end">
            {Number(tick.toPrecision(3))}
          </text>
        </g>
      ))}
      {columns.map((bar, index) => {
        const { label, value, low, high, mark, tick, muted } = bar;
        return (
          <g key={label} data-label={label} data-value={value}>
            <title>{words(bar, top)}</title>
            <rect
              class={muted ? "hp-itself" : "hp-above"}
              x={x(index) - thick / 2}
              width={thick}
              y={y(value ?? 0)}
              height={floor - y(value ?? 0)}
            />
            {bar.moved != null && (
              <rect
                class="hp-moved"
                x={x(index) + thick / 2}
                width={thick}
                y={y(bar.moved)}
                height={floor - y(bar.moved)}
              />
            )}
            {low != null && high != null && (
              <line class="hp-whisker" x1={x(index)} x2={x(index)} y1={y(low)} y2={y(high)} />
            )}
            {mark != null && (
              <line
                class="hp-mark"
                x1={x(index) - step / 2 + 1}
                x2={x(index) + step / 2 - 1}
                y1={y(mark)}
                y2={y(mark)}
              />
            )}
            {tick && (
              <text class="hp-tick" x={x(index)} y={floor + 13} text-anchor="middle">
                {tick}
              </text>
            )}
          </g>
        );
      })}
      <text class="hp-tick" x={(WIDE + LEFT) / 2} y={TALL - 4} text-anchor="middle">
        {caption}
      </text>
    </svg>
  );
}

/** One chart; `name` is what the section around it is called. */
export function Picture({ chart, name }: { chart: Chart; name: string }) {
  if (chart.kind === "columns") return <Columns {...chart} name={chart.title || name} />;
  return (
    <div>
      {chart.title && <p class="hp-what">{chart.title}</p>}
      <Bars {...chart} />
    </div>
  );
}
