/** Beside the head view: the weights as numbers. */
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { type Axis, repeated, shortened, visible } from "../data/tokens";
import type { Axes, WeightGrid } from "../data/weights";
import { headColour } from "../parts/colour";
import { asNumber } from "../parts/numbers";
import { type Link, linksOf, strongest } from "./lines";
import type { Active } from "./view";

const MOST = 14; // rows

interface Props {
  axes: Axes;
  heads: number[];
  grids: WeightGrid[];
  active: Active | null;
  layer: number;
  /** Whether tokens look back only. */
  causal: boolean;
  threshold: number;
  dark: boolean;
  pin: (side: Active["side"], index: number) => void;
  /** What stands below the numbers. */
  children?: ComponentChildren;
}

export function HeadDetail(props: Props) {
  return (
    <aside class="hs-detail" aria-label="Weights">
      {props.active === null ? <Strongest {...props} /> : <OfToken {...props} active={props.active} />}
      {props.children}
    </aside>
  );
}

function OfToken({ axes, heads, grids, active, layer, dark, pin }: Props & { active: Active }) {
  const { side, index } = active;
  const other = side === "query" ? "key" : "query";
  const links = useMemo(() => linksOf(grids, side, index, axes[other]), [grids, side, index, axes]);
  const axis = side === "query" ? axes.queries : axes.keys;
  const across = side === "query" ? axes.keys : axes.queries;
  const rest = links.slice(MOST).reduce((sum, link) => sum + link.mean, 0);
  const several = heads.length > 1;
  const twice = useTwice(axes);
  return (
    <>
      <h3>
        {side === "query" ? "From" : "To"} “
        <Token axis={axis} twice={[]} index={index} />” <span class="hs-muted">token {index}</span>
      </h3>
      <table class="hs-weights" data-side={side} data-index={index}>
        <thead>
          <tr>
            <th scope="col">{side === "query" ? "to" : "from"}</th>
            <th scope="col">{several ? "mean" : axes.amount}</th>
            {several && <th scope="col">strongest</th>}
          </tr>
        </thead>
        <tbody>
          {links.slice(0, MOST).map((link) => (
            <Row
              key={link[other]}
              {...{ link, several, heads, layer, dark }}
              index={link[other]}
              error={axes.error}
              signed={grids[0]!.signed}
            >
              <button type="button" class="hs-link" onClick={() => pin(other, link[other])}>
                <Token axis={across} twice={twice[other]} index={link[other]} />
              </button>
            </Row>
          ))}
          {links.length > MOST && (
            <tr class="hs-muted">
              <td>{links.length - MOST} more</td>
              <td class="hs-number">{asNumber(rest, axes.error, grids[0]?.signed)}</td>
              {several && <td />}
            </tr>
          )}
        </tbody>
      </table>
    </>
  );
}

interface RowProps {
  link: Link;
  index: number;
  error: number;
  several: boolean;
  signed: boolean;
  heads: number[];
  layer: number;
  dark: boolean;
  children: preact.ComponentChildren;
}

function Row({ link, index, error, several, signed, heads, layer, dark, children }: RowProps) {
  const head = heads[link.head]!;
  return (
    <tr data-index={index} data-weight={link.mean.toFixed(6)}>
      <td>{children}</td>
      <td class="hs-number">{asNumber(link.mean, error, signed)}</td>
      {several && (
        <td class="hs-number">
          {asNumber(link.weight, error, signed)} <HeadMark {...{ head, layer, dark }} />
        </td>
      )}
    </tr>
  );
}

function HeadMark({ head, layer, dark }: { head: number; layer: number; dark: boolean }) {
  return (
    <span class="hs-headmark" style={{ "--chip": headColour(head, dark) }}>
      {layer}.{head}
    </span>
  );
}

/** A token by its text; where the text stands more than once, with its position. */
function Token({ axis, twice, index }: { axis: Axis; twice: readonly boolean[]; index: number }) {
  const label = visible(axis.labels[index] ?? "");
  return (
    <>
      <bdi class="hs-word" title={label}>
        {shortened(label, 24)}
      </bdi>
      {twice[index] && <span class="hs-place">{index}</span>}
    </>
  );
}

function useTwice({ queries, keys }: Axes): { query: boolean[]; key: boolean[] } {
  return useMemo(() => ({ query: repeated(queries), key: repeated(keys) }), [queries, keys]);
}

/** In a decoder without the links of the first token, where heads rest that have nothing to do, and which sees itself alone. */
function Strongest({ axes, heads, grids, layer, causal, threshold, dark, pin }: Props) {
  const [links, setLinks] = useState<Link[]>([]);
  const twice = useTwice(axes);
  const isChange = axes.amount === "change";
  const withoutFirst = causal && !isChange && axes.keys.length > 1;
  // After the picture: the lines must not wait for it.
  useEffect(() => {
    const timer = setTimeout(() => {
      const rows = { from: 0, to: Math.max(axes.queries.length, axes.keys.length) };
      const allowed = (tokens: readonly boolean[]) =>
        tokens.map((token, index) => token && !(withoutFirst && index === 0));
      const [query, key] = [allowed(axes.query), allowed(axes.key)];
      setLinks(strongest(grids, { query, key, threshold, rows, only: null, limit: 0 }, MOST));
    }, 30);
    return () => clearTimeout(timer);
  }, [grids, axes, threshold, withoutFirst]);
  return (
    <>
      <h3>{isChange ? "Largest changes" : "Strongest links"}</h3>
      <table class="hs-weights">
        <tbody>
          {links.map((link) => (
            <tr key={`${link.head} ${link.query} ${link.key}`}>
              <td>
                <button type="button" class="hs-link hs-between" onClick={() => pin("query", link.query)}>
                  <span>
                    <Token axis={axes.queries} twice={twice.query} index={link.query} />
                  </span>
                  →
                  <span>
                    <Token axis={axes.keys} twice={twice.key} index={link.key} />
                  </span>
                </button>
              </td>
              <td class="hs-number">
                {asNumber(link.weight, axes.error, grids[0]?.signed)}{" "}
                {heads.length > 1 && <HeadMark {...{ layer, dark }} head={heads[link.head]!} />}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {withoutFirst && (
        <p class="hs-muted">
          Without those of the first token, “
          <Token axis={axes.keys} twice={[]} index={0} />
          ”, where heads rest.
        </p>
      )}
      <p class="hs-muted">
        {links.length === 0
          ? `No ${axes.amount} is as large as the threshold.`
          : "Point at a token for its weights; click to pin it."}
      </p>
    </>
  );
}
