/** What the views show and which keys there are. */
import { useEffect, useRef } from "preact/hooks";
import type { Seen } from "../data/api";
import type { Source } from "../data/source";
import { errorWords } from "../data/tokens";
import type { State } from "./state";
import type { View } from "./view";

type Keys = readonly (readonly [string, string])[];

const EVERYWHERE: Keys = [
  ["/", "search"],
  ["t", "light or dark"],
  ["?", "this help"],
  ["Esc", "close this, leave a field"],
];

/** Digits open views; one view needs none. */
function digits(views: number): Keys {
  return views > 1 ? [[`1 – ${Math.min(9, views)}`, "the first, second … view"]] : [];
}

/** What the frame does for a view, by the controls it is steered by. */
function framed({ controls, needs }: View): Keys {
  const keys: [string, string][] = [];
  if (controls.includes("layer")) keys.push(["↑ ↓", "previous layer, next layer"]);
  if (controls.includes("heads") || controls.includes("head")) keys.push(["← →", "previous head, next head"]);
  if (controls.includes("heads")) keys.push(["a", "all heads"]);
  if (controls.includes("level")) keys.push(["w", "pieces or words"]);
  if (needs === "text" && controls.includes("layer")) keys.push(["j k", "next token, previous token"]);
  if (needs === "text" && controls.includes("layer")) keys.push(["Esc", "unpin the token"]);
  return keys;
}

function List({ keys }: { keys: Keys }) {
  return (
    <dl>
      {keys.map(([key, words]) => (
        <>
          <dt>
            <kbd>{key}</kbd>
          </dt>
          <dd>{words}</dd>
        </>
      ))}
    </dl>
  );
}

const SENDS = {
  server:
    "What you type goes to the headscope explore that this page came from, on the machine where it runs, and nowhere else.",
  file: "This page sends nothing anywhere.",
  widget: "This view sends nothing anywhere.",
};

interface Props {
  views: readonly View[];
  view: View | undefined;
  seen: Seen | null;
  source: Source;
  level: State["level"];
  onClose: () => void;
}

export function Help({ views, view, seen, source, level, onClose }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    dialog.current?.showModal();
    // Not to its only button, which is at the end, out of sight.
    dialog.current?.focus({ preventScroll: true });
    dialog.current?.scrollTo(0, 0);
  }, []);
  return (
    <dialog
      ref={dialog}
      class="hs-help"
      aria-label="Help"
      tabIndex={-1}
      onClose={onClose}
      onClick={(event) => event.target === dialog.current && dialog.current?.close()}
    >
      <div>
        <h2>Views</h2>
        <dl>
          {views.map((view) => (
            <>
              <dt>{view.title}</dt>
              <dd>{view.about}</dd>
            </>
          ))}
        </dl>
        <h2>Keys</h2>
        <List keys={[...digits(views.length), ...EVERYWHERE]} />
        {[...views]
          .sort((one, other) => Number(other === view) - Number(one === view))
          .map((each) => [each, [...framed(each), ...(each.keys ?? [])]] as const)
          .filter(([, keys]) => keys.length > 0)
          .map(([each, keys]) => (
            <section key={each.name} aria-label={`Keys of ${each.title}`}>
              <h3>
                {each.title}
                {each === view && <span class="hs-muted"> (open now)</span>}
              </h3>
              <List keys={keys} />
            </section>
          ))}
        <h2>Numbers</h2>
        <p>
          Layers and heads are counted from 0 and written layer.head. A weight is the share of its attention that a
          token pays to another. With words: to a word, the sum over its pieces; from a word, the mean over its pieces.
        </p>
        {seen !== null && (
          <p>
            The largest error of a weight is {errorWords(seen, level)}
            {level === "word" ? " between words" : ""}.
          </p>
        )}
        <p class="hs-muted">
          headscope {source.about.version}. {SENDS[source.kind]}
        </p>
        <button type="button" class="hs-button" onClick={() => dialog.current?.close()}>
          Close
        </button>
      </div>
    </dialog>
  );
}
