/** The frame around the views: tabs, controls, search, theme, help, keys. */
import { Component, type ComponentChildren, Fragment } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { headNamed } from "../atlas/filter";
import type { Seen } from "../data/api";
import { atlasIn, type Source, subjectOf } from "../data/source";
import { axesOf, errorWords } from "../data/tokens";
import { Busy, Trouble } from "../parts/controls";
import { inWords, useDark } from "../parts/hooks";
import { useAddress } from "./address";
import { atLevel, stepped, within } from "./choices";
import { generate } from "./edit";
import { EditBar } from "./editbar";
import { Help } from "./help";
import { useKeys } from "./keys";
import { Beyond, Missing, missingIn } from "./missing";
import { besideChange, besideState, Pair } from "./pair";
import { type Read, same, typedIn, useReading } from "./reading";
import type { SetState, State } from "./state";
import { TextBar } from "./textbar";
import { Toolbar } from "./toolbar";
import type { View, ViewProps } from "./view";
import { viewsOf } from "./views";
import { weighedFor, weighedSource } from "./weigh";
// After the styles of the views.
import "./theme.css";
import "./shell.css";

export function App({ source }: { source: Source }) {
  const [address, setAsked] = useAddress(source);
  const [help, setHelp] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const search = useRef<HTMLInputElement>(null);
  const dark = useDark(address.theme);
  // A page has one main part; a report and a notebook have their own.
  const [Main] = useState<"main" | "div">(() =>
    source.kind === "widget" || document.querySelector("main") !== null ? "div" : "main",
  );

  const views = useMemo(() => viewsOf(source), [source]);
  const missing = missingIn(address, source, views);
  const tab = views.find((each) => each.name === address.view) ?? views[0];
  const view = missing === null ? tab : undefined;
  const asked = weighedFor(view, address);
  const ofText = view?.needs === "text" || view?.needs === "neurons";
  const ofHeads = view?.needs === "atlas";
  const reading = useReading(source, asked, setAsked, ofText && source.seen !== undefined);
  const drawn = weighedSource(source, asked);
  const seen = seenBy(drawn, asked, reading.read);
  const state = seen !== null && ofText ? within(asked, seen) : asked;
  // What is shown though the address does not name it stays, whatever else changes: a head, and the model of an atlas.
  const setState: SetState = (change) => {
    const { layer, heads } = state;
    const leaves = views.some(({ name, needs }) => name === change.view && needs !== "text" && needs !== "neurons");
    const head = asked.heads.length === 0 && heads.length > 0 && !leaves ? { layer, heads } : {};
    const model = ofHeads && change.view !== undefined ? atlasIn(source.about, asked)?.model : undefined;
    setAsked({ ...head, ...(model && asked.model === "" && source.seen ? { model } : {}), ...change });
  };
  const second = source.seen === undefined || source.beside === undefined ? null : besideState(asked);
  const setSecond: SetState = (change) => setAsked(besideChange(change));
  const readingBeside = useReading(source.beside ?? source, second ?? asked, setSecond, ofText && second !== null);
  const drawnBeside = source.beside && weighedSource(source.beside, asked);
  const beside = drawnBeside && ofText ? seenBeside(drawnBeside, second, readingBeside.read) : null;
  const searched = ofHeads ? "hq" : "q";
  // The text that the address names, not the one before it while that is being read.
  const { read } = reading;
  const arrived = source.seen === undefined || (read !== null && same(read.typed, typedIn(asked, source.about.models)));

  const press = (event: KeyboardEvent): boolean => {
    if (event.key === "/" && search.current !== null) search.current.focus();
    else if (event.key === "?") setHelp(true);
    else if (event.key === "t") setState({ theme: dark ? "light" : "dark" });
    else if (/^[1-9]$/.test(event.key) && views[Number(event.key) - 1] !== undefined) {
      setState({ view: views[Number(event.key) - 1]!.name });
    } else {
      const change = view === undefined || seen === null || !ofText ? null : pressed(event, view, state, seen);
      if (change === null) return false;
      setState(change);
    }
    return true;
  };
  useKeys(root, source, press, "frame");

  return (
    <div ref={root} class={`headscope hs-${source.kind}`} data-theme={dark ? "dark" : "light"} tabIndex={-1}>
      <header class="hs-header">
        <strong class="hs-brand">headscope</strong>
        <Tabs views={views} view={missing?.what === "view" ? undefined : tab} setState={setState} />
        {(ofText || ofHeads) && (
          <input
            ref={search}
            class="hs-search"
            type="search"
            placeholder={`${ofHeads ? "Search heads" : "Search"} ( / )`}
            aria-label="Search"
            value={state[searched]}
            onInput={(event) => setState({ [searched]: event.currentTarget.value })}
            onKeyDown={(event) => {
              if (event.key === "Escape") event.currentTarget.blur();
              const named = event.key === "Enter" && ofHeads ? headNamed(state.hq) : null;
              if (named) setState({ layer: named.layer, heads: [named.head], hq: "" });
            }}
          />
        )}
        {source.kind !== "widget" && <CopyLink />}
        <button
          type="button"
          class="hs-icon"
          aria-label={dark ? "Light" : "Dark"}
          title={dark ? "Light (t)" : "Dark (t)"}
          onClick={() => setState({ theme: dark ? "light" : "dark" })}
        >
          {dark ? "☀" : "☾"}
        </button>
        <button type="button" class="hs-icon" aria-label="Help" title="Help (?)" onClick={() => setHelp(true)}>
          ?
        </button>
      </header>
      {source.seen !== undefined && ofText && (
        <TextBar
          models={source.about.models}
          reading={reading}
          generate={{
            tokens: generate.of(asked),
            change: (tokens) => setAsked({ settings: generate.to(tokens) }),
          }}
        >
          {second === null && (
            <button
              type="button"
              class="hs-button"
              title="Show another model or text beside this one"
              onClick={() => setAsked(besideChange(typedIn(asked, source.about.models)))}
            >
              Beside …
            </button>
          )}
        </TextBar>
      )}
      {second !== null && ofText && (
        <TextBar models={source.about.models} reading={readingBeside}>
          <button type="button" class="hs-button" title="Show one alone" onClick={() => setAsked(besideChange(null))}>
            Close
          </button>
        </TextBar>
      )}
      {source.seen !== undefined && ofText && <EditBar {...{ state, setState }} />}
      {seen !== null && ofText && view !== undefined && (
        <Toolbar
          {...{ view, source, seen, state, setState, dark }}
          isOne={beside === null || beside.model === seen.model}
        />
      )}
      {seen !== null && ofText && arrived && <Beyond {...{ asked, seen, setState }} />}
      <Main class={`hs-main-part${ofText && reading.stale ? " hs-stale" : ""}`}>
        {missing !== null ? (
          <Missing {...{ missing, source, state, setState, views }} />
        ) : (
          <Shown
            {...{ view, seen, beside, state, setState, dark, ofText }}
            source={drawn}
            besideSource={drawnBeside}
            isReading={reading.busy}
          />
        )}
      </Main>
      {seen !== null && ofText && (
        <Footer {...{ source }} seen={beside === null ? [seen] : [seen, beside]} level={levelOf(view, state)} />
      )}
      {help && <Help {...{ views, view, seen, source }} level={levelOf(view, state)} onClose={() => setHelp(false)} />}
    </div>
  );
}

/** Puts the address, which says all that is shown, on the clipboard. */
function CopyLink() {
  const [copied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(location.href);
    setCopied(true);
    setTimeout(() => setCopied(false), 1500);
  };
  return (
    <button
      type="button"
      class="hs-icon"
      aria-label={copied ? "Link copied" : "Copy the link"}
      title="Copy a link to what is shown"
      onClick={() => void copy()}
    >
      {copied ? (
        "✓"
      ) : (
        <svg
          width="15"
          height="15"
          viewBox="0 0 24 24"
          fill="none"
          stroke="currentColor"
          stroke-width="2"
          aria-hidden="true"
        >
          <path d="M10 14a5 5 0 0 0 7 0l3-3a5 5 0 0 0-7-7l-1.5 1.5M14 10a5 5 0 0 0-7 0l-3 3a5 5 0 0 0 7 7l1.5-1.5" />
        </svg>
      )}
    </button>
  );
}

/** The text to show: never one that another model has read than the address names. */
function seenBy(source: Source, state: State, read: Read | null): Seen | null {
  if (source.seen === undefined) return source.current;
  return read !== null && read.typed.model === typedIn(state, source.about.models).model ? read.seen : null;
}

/** What is shown beside: the page's own second text, or what was read for the address. */
function seenBeside(source: Source, state: State | null, read: Read | null): Seen | null {
  return source.current !== null && source.kind !== "server" ? source.current : state && seenBy(source, state, read);
}

/** Words only where the view has them. */
function levelOf(view: View | undefined, state: State): State["level"] {
  return view?.controls.includes("level") ? state.level : "piece";
}

interface TabsProps {
  views: readonly View[];
  view: View | undefined;
  setState: SetState;
}

function Tabs({ views, view, setState }: TabsProps) {
  if (views.length < 2) return <span class="hs-tabs" />;
  return (
    <nav class="hs-tabs" aria-label="Views">
      {views.map((each) => (
        <button
          key={each.name}
          type="button"
          aria-current={each === view ? "page" : undefined}
          data-view={each.name}
          title={each.about}
          onClick={() => setState({ view: each.name })}
        >
          {each.title}
        </button>
      ))}
    </nav>
  );
}

interface ShownProps {
  source: Source;
  besideSource: Source | undefined;
  view: View | undefined;
  seen: Seen | null;
  beside: Seen | null;
  state: State;
  setState: SetState;
  dark: boolean;
  ofText: boolean;
  isReading: boolean;
}

function Shown({ source, besideSource, view, seen, beside, state, setState, dark, ofText, isReading }: ShownProps) {
  if (view === undefined) return <Trouble>There is nothing to show: no text, no atlas and no model.</Trouble>;
  if (ofText && seen === null) {
    if (source.seen === undefined) return <Trouble>This page holds no text.</Trouble>;
    return isReading ? <Busy>Reading the text …</Busy> : <Busy>Nothing was read; press Look to try again.</Busy>;
  }
  const Part = view.component;
  const show = (props: ViewProps) => {
    if (view.needs === "neurons" && props.seen?.difference)
      return <Busy>A difference has no queries and keys of its own. Choose before or after.</Busy>;
    if (view.needs === "neurons" && props.seen?.has_neurons === false)
      return <Trouble>The queries and keys of this text are not there. {props.seen.note}</Trouble>;
    return (
      <Guard key={view.name}>
        <Part {...props} />
      </Guard>
    );
  };
  if (seen !== null && beside !== null && besideSource !== undefined) {
    const panes = [
      { source, seen },
      { source: besideSource, seen: beside },
    ] as const;
    return <Pair {...{ panes, view, state, setState, dark, show }} />;
  }
  return show({ source, seen, state, setState, dark });
}

/** A view that fails says so; the frame stays. */
class Guard extends Component<{ children: ComponentChildren }, { error: unknown }> {
  override state = { error: null as unknown };

  static override getDerivedStateFromError(error: unknown) {
    return { error };
  }

  override render() {
    if (this.state.error === null) return this.props.children;
    return <Trouble>This view failed: {inWords(this.state.error)}</Trouble>;
  }
}

function Footer({ source, seen, level }: { source: Source; seen: readonly Seen[]; level: State["level"] }) {
  const title = level === "word" ? "Between words; a weight is a sum over pieces there." : "As weights are stored.";
  return (
    <footer class="hs-footer">
      {seen.map((each, index) => {
        // As it was named first: what is loaded for predictions has another class, and is the same model.
        const named = source.about.models.find((model) => model.name === each.model)?.architecture;
        const architecture = named || each.architecture;
        const sides = [each.source, ...(each.target ? [each.target] : [])];
        return (
          <Fragment key={index}>
            <span>
              {subjectOf(each)}
              {architecture && ` (${architecture})`}
            </span>
            <span>{sides.map(({ pieces }) => pieces.length).join(" + ")} tokens</span>
            <span title={title}>max. error {errorWords(each, level)}</span>
            {each.note !== "" && <span>{each.note}</span>}
          </Fragment>
        );
      })}
    </footer>
  );
}

/** What a key changes in a view of a text. */
function pressed(event: KeyboardEvent, view: View, state: State, seen: Seen): Partial<State> | null {
  const stack = seen.stacks.find((each) => each.name === state.stack);
  if (stack === undefined || event.shiftKey) return null;
  if (event.key === "Escape") return state.token === null ? null : { token: null };
  if (event.key === "a" && view.controls.includes("heads")) return { heads: [] };
  if (event.key === "w" && view.controls.includes("level")) {
    return atLevel(seen, state, state.level === "word" ? "piece" : "word");
  }
  if (event.key === "j" || event.key === "k") {
    const axis = axesOf(seen, stack, state.level)[state.side === "query" ? "queries" : "keys"];
    const next = state.token === null ? 0 : state.token + (event.key === "j" ? 1 : -1);
    return { token: Math.min(axis.length - 1, Math.max(0, next)) };
  }
  return view.controls.includes("layer") ? stepped(state, stack, event.key) : null;
}
