/** What the views show and which keys there are. */
import { useEffect, useRef } from "preact/hooks";
import type { Seen } from "../api";
import type { View } from "../views/view";

const KEYS: readonly (readonly [string, string])[] = [
  ["↑ ↓", "layer before, next layer"],
  ["← →", "head before, next head"],
  ["j k", "next token, token before"],
  ["1 – 9", "the first, second … view"],
  ["a", "all heads"],
  ["w", "pieces or words"],
  ["t", "light or dark"],
  ["Enter", "all heads: open the head"],
  ["+ − 0", "matrix: nearer, farther, all of it"],
  ["Shift + arrows", "matrix: move"],
  ["/", "search"],
  ["Esc", "let go of a token, close this"],
  ["?", "this help"],
];

interface Props {
  views: readonly View[];
  seen: Seen | null;
  version: string;
  onClose: () => void;
}

export function Help({ views, seen, version, onClose }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog
      ref={dialog}
      class="hs-help"
      aria-label="Help"
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
        <dl>
          {KEYS.map(([keys, words]) => (
            <>
              <dt>
                <kbd>{keys}</kbd>
              </dt>
              <dd>{words}</dd>
            </>
          ))}
        </dl>
        <h2>Numbers</h2>
        <p>
          Layers and heads are counted from 0 and written layer.head. A weight is the share of its attention that a
          token pays to another. With words: to a word, the sum over its pieces; from a word, the mean over its pieces.
        </p>
        {seen !== null && <p>Weights are stored in one byte each and are right to ±{seen.max_error.toPrecision(2)}.</p>}
        <p class="hs-muted">headscope {version}. This page sends nothing anywhere.</p>
        <button type="button" class="hs-button" onClick={() => dialog.current?.close()}>
          Close
        </button>
      </div>
    </dialog>
  );
}
