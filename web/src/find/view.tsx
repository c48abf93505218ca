/** Find: arrows drawn between words of a few sentences, and the heads that look along them. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { DrawnText, Found, FoundHeads } from "../data/api";
import { visible } from "../data/tokens";
import { Arcs } from "../headpage/arcs";
import { Busy, Field, Trouble } from "../parts/controls";
import { inWords } from "../parts/hooks";
import { download } from "../parts/save";
import type { State } from "../shell/state";
import type { View, ViewProps } from "../shell/view";
import { asJsonLines, FEWEST, keep, kept, linesOf, withArrow, wordPairs } from "./arrows";
import "./find.css";

const SENTENCES = `After the long meeting the two lawyers from the city finally signed the new contract on Monday.
In the old kitchen behind the school my aunt and her friends baked a large cake for us.
When the rain had stopped the children in our street quickly built a small boat near the river.
Last year the museum in the capital sold the painting to a rich man from abroad.
Because the train was late the young doctor and his wife missed the first concert of the season.
On the second day the police and some neighbours found the stolen car under a bridge.`;

function FindView({ source, state, setState }: ViewProps) {
  const { models, atlases } = source.about;
  const model = models.find(({ name }) => name === state.model) ?? models[0];
  const [texts, setTexts] = useState<DrawnText[]>(kept);
  const [trouble, setTrouble] = useState("");
  const [found, setFound] = useState<Found | null>(null);
  const [busy, setBusy] = useState(false);
  const underway = useRef<AbortController | null>(null);
  useEffect(() => keep(texts), [texts]);
  useEffect(() => () => underway.current?.abort(), []);
  const change = (next: DrawnText[]): void => {
    setTexts(next);
    setFound(null);
    setTrouble("");
  };
  const add = async (lines: string): Promise<void> => {
    try {
      const { texts: more, note } = await source.drawArrows!({ lines });
      change([...texts, ...more]);
      setTrouble(note ?? "");
    } catch (error) {
      setTrouble(inWords(error));
    }
  };
  const usable = linesOf(texts);
  const find = async (): Promise<void> => {
    underway.current?.abort();
    const control = new AbortController();
    underway.current = control;
    setBusy(true);
    setTrouble("");
    setFound(null);
    try {
      setFound(await source.find!({ model: model?.name ?? "", texts: usable }, control.signal));
    } catch (error) {
      if (!control.signal.aborted) setTrouble(inWords(error));
    } finally {
      if (underway.current === control) setBusy(false);
    }
  };
  const open = (stack: string, head: string): void => {
    const [layer = 0, which = 0] = head.split(".").map(Number);
    const atlas = atlases.find((each) => each.model === model?.name);
    const place: Partial<State> = { stack, layer, heads: [which], token: null };
    const shown = atlas ? { view: "atlas", atlas: atlas.id } : { view: "head", a: usable[0]?.text ?? "" };
    setState({ ...place, ...shown, model: model?.name ?? "" });
  };
  const missing = FEWEST - usable.length;
  return (
    <div class="fi">
      <p class="at-about">
        Which head looks from here to there? Click the word that looks, then the word that it looks at, in at least{" "}
        {FEWEST} texts. Click the same two words again to remove an arrow.
      </p>
      {models.length > 1 && (
        <Field label="Model">
          <select
            aria-label="Model"
            value={model?.name}
            onChange={(event) => {
              setFound(null);
              setState({ model: event.currentTarget.value });
            }}
          >
            {models.map(({ name }) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </Field>
      )}
      <Add add={add} hasTexts={texts.length > 0} />
      <ol class="fi-texts">
        {texts.map((text, at) => (
          <Text
            key={at}
            text={text}
            onChange={(next) => change(texts.map((each, place) => (place === at ? next : each)))}
            onRemove={() => change(texts.filter((_, place) => place !== at))}
          />
        ))}
      </ol>
      {texts.length > 0 && (
        <p class="fi-row">
          {busy ? (
            <button key="cancel" type="button" class="hs-button" onClick={() => underway.current?.abort()}>
              Cancel
            </button>
          ) : (
            <button
              key="find"
              type="button"
              class="hs-button hs-main"
              disabled={missing > 0}
              onClick={() => void find()}
            >
              Find
            </button>
          )}
          <span class="hs-muted" role="status">
            {usable.length} {usable.length === 1 ? "text has" : "texts have"} arrows
            {missing > 0 ? `; draw some in ${missing} more` : ""}.
          </span>
          <button
            type="button"
            class="hs-button"
            disabled={usable.length === 0}
            onClick={() => download("arrows.jsonl", new Blob([asJsonLines(texts)], { type: "application/x-ndjson" }))}
          >
            Save arrows.jsonl
          </button>
          <button type="button" class="hs-button" onClick={() => change([])}>
            Remove all
          </button>
        </p>
      )}
      {trouble && <Trouble>{trouble}</Trouble>}
      {busy && <Busy>{model?.name} reads the texts …</Busy>}
      {found?.stacks.map((heads) => (
        <Heads key={heads.stack} {...{ heads, open }} several={found.stacks.length > 1} />
      ))}
      {found?.notes.map((note) => (
        <p class="at-about" key={note}>
          {note}
        </p>
      ))}
    </div>
  );
}

function Add({ add, hasTexts }: { add: (lines: string) => Promise<void>; hasTexts: boolean }) {
  const [typed, setTyped] = useState("");
  const send = (): void => {
    if (typed.trim() === "") return;
    void add(typed);
    setTyped("");
  };
  return (
    <form
      class="fi-row"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <textarea
        rows={2}
        dir="auto"
        aria-label="Sentences, or lines of arrows.jsonl"
        placeholder="Sentences, one a line; or lines of arrows.jsonl"
        value={typed}
        onInput={(event) => setTyped(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && !event.shiftKey) {
            event.preventDefault();
            send();
          }
        }}
      />
      <button type="submit" class="hs-button" disabled={typed.trim() === ""}>
        Add
      </button>
      {!hasTexts && (
        <button type="button" class="hs-button" onClick={() => void add(SENTENCES)}>
          Six sentences to begin with
        </button>
      )}
    </form>
  );
}

interface TextProps {
  text: DrawnText;
  onChange: (text: DrawnText) => void;
  onRemove: () => void;
}

/** A text whose words are buttons: the first one that is clicked looks at the second. */
function Text({ text, onChange, onRemove }: TextProps) {
  const [from, setFrom] = useState<number | null>(null);
  const click = (word: number): void => {
    if (from === null || from === word) setFrom(from === word ? null : word);
    else {
      onChange(withArrow(text, from, word));
      setFrom(null);
    }
  };
  const links = wordPairs(text).map((pair) => ({ ...pair, weight: 1 }));
  const said = links.map(({ from, to }) => `${text.words[from]} → ${text.words[to]}`).join("; ");
  return (
    <li>
      <Arcs links={links} label={said || "no arrows yet"}>
        <p class="hp-words" dir="auto">
          {text.words.map((word, at) => (
            <button
              type="button"
              key={at}
              class={`hp-word${at === from ? " hp-asking" : ""}`}
              aria-pressed={at === from}
              data-word={at}
              onClick={() => click(at)}
              onKeyDown={(event) => event.key === "Escape" && setFrom(null)}
            >
              <bdi>{visible(word)}</bdi>
            </button>
          ))}
        </p>
      </Arcs>
      <button type="button" class="hs-icon" aria-label="Remove this text" title="Remove this text" onClick={onRemove}>
        ×
      </button>
    </li>
  );
}

interface HeadsProps {
  heads: FoundHeads;
  several: boolean;
  open: (stack: string, head: string) => void;
}

/** The answer, and the best heads with their scores. */
function Heads({ heads: { stack, sentences, heads, headings, rows }, several, open }: HeadsProps) {
  return (
    <section class="fi-found">
      {several && <h3>{stack}</h3>}
      {sentences.map((sentence) => (
        <p key={sentence} role="status">
          {sentence}
        </p>
      ))}
      <div class="fi-scroll">
        <table>
          <thead>
            <tr>
              {headings.map((heading, at) => (
                <th key={at} scope="col">
                  {heading}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(([, ...cells], row) => (
              <tr key={row}>
                <th scope="row">
                  <button type="button" class="hs-link" onClick={() => open(stack, heads[row] ?? "")}>
                    {heads[row]}
                  </button>
                </th>
                {cells.map((cell, at) => (
                  <td key={at}>{cell}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

export const findView: View = {
  name: "find",
  title: "Find",
  about: "Draw arrows between words of a few sentences, and find the head that looks along them.",
  needs: "find",
  controls: [],
  component: FindView,
};
