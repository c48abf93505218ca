/** A running `headscope explore`. */
import type {
  About,
  AtlasData,
  Drawn,
  Found,
  HeadPage,
  NamedHeads,
  Neurons,
  Predicted,
  Problem,
  Seen,
  Selection,
} from "./api";
import { inflate } from "./decode";
import { remembered } from "./remembered";
import { type LayerMaps, layerMaps, type Source, SourceError } from "./source";

const HEADER = "X-Headscope-Token";

/** Who asks: pages take turns at the server, and each goes by a name of its own. */
const READER = { "X-Headscope-Reader": Math.random().toString(36).slice(2) };

/** The token of this page is not the server's. */
export class UnknownToServer extends SourceError {
  constructor() {
    super("The server does not know this page. Open the link that headscope explore has printed.");
  }
}

async function ask(access: string, path: string, body?: unknown, signal?: AbortSignal): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(`/api/${path}`, {
      method: body === undefined ? "GET" : "POST",
      headers: { [HEADER]: access, ...READER, ...(body === undefined ? {} : { "Content-Type": "application/json" }) },
      body: body === undefined ? null : JSON.stringify(body),
      signal: signal ?? null,
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new SourceError("The server does not answer. Is headscope explore still running?");
  }
  if (response.status === 401 || response.status === 403) throw new UnknownToServer();
  if (!response.ok) throw new SourceError(await problem(response));
  return response;
}

async function problem(response: Response): Promise<string> {
  const told = (await response.json().catch(() => null)) as Partial<Problem> | null;
  return told?.error ?? `The server answered ${response.status} ${response.statusText}.`;
}

const part = encodeURIComponent;

export async function serverSource(access: string): Promise<Source> {
  const about = (await (await ask(access, "about")).json()) as About;
  const source = connected(access, about);
  return about.models.length > 0 ? Object.assign(source, { beside: connected(access, about) }) : source;
}

/** The server, with a text of its own that is being looked at. */
function connected(access: string, about: About): Source {
  const json = async <T>(path: string, body?: unknown, signal?: AbortSignal): Promise<T> =>
    (await (await ask(access, path, body, signal)).json()) as T;
  let current: Seen | null = null;
  let maps: ((stack: string, layer: number) => Promise<LayerMaps>) | null = null;
  const looking = (): Seen => {
    if (current === null) throw new SourceError("No text has been looked at yet.");
    return current;
  };
  const source: Source = {
    kind: "server",
    about,
    start: about.start ?? "",
    get current() {
      return current;
    },
  };
  source.script = async (name) => {
    await import(`/assets/views/${part(name)}.js`);
  };
  source.view = ({ name, subject }, atlas, head, signal) => {
    const of = subject === "text" ? `seen/${part(looking().id)}` : `atlas/${part(atlas)}`;
    const where = head === null ? "" : `?stack=${part(head[0])}&layer=${head[1]}&head=${head[2]}`;
    return json(`${of}/view/${part(name)}${where}`, undefined, signal);
  };
  if (about.models.length > 0) {
    source.seen = async (request, signal) => {
      const seen = await json<Seen>("seen", request, signal);
      current = seen;
      maps = remembered(async (stack, layer) => {
        const answer = await ask(access, `seen/${part(seen.id)}/maps/${part(stack)}/${layer}`);
        return layerMaps(seen, stack, layer, await inflate(new Uint8Array(await answer.arrayBuffer())));
      });
      return seen;
    };
    source.maps = async (stack, layer) => {
      looking();
      return maps!(stack, layer);
    };
    source.neurons = (stack, layer, head, signal) =>
      json<Neurons>(`seen/${part(looking().id)}/neurons/${part(stack)}/${layer}/${head}`, undefined, signal);
    source.predict = (request, signal) => json<Predicted>("predict", request, signal);
    source.textAtlas = (request, signal) => json<AtlasData>("heads", request, signal);
    source.drawArrows = (request) => json<Drawn>("arrows", request);
    source.find = (request, signal) => json<Found>("find", request, signal);
    source.select = (request, signal) => json<NamedHeads>("select", request, signal);
  }
  if (about.atlases.length > 0) {
    source.atlas = (id, signal) => json<AtlasData>(`atlas/${part(id)}`, undefined, signal);
    source.mappedAtlas = (id, signal) => json<AtlasData>(`atlas/${part(id)}?maps=true`, undefined, signal);
    source.selection = (id, stack, heads, signal) =>
      json<Selection>(`atlas/${part(id)}/selection/${part(stack)}?heads=${heads.join(",")}`, undefined, signal);
    source.headPage = (id, stack, layer, head, signal) =>
      json<HeadPage>(`atlas/${part(id)}/head/${part(stack)}/${layer}/${head}`, undefined, signal);
  }
  return source;
}
