/** All views, in the order of their tabs. */

import { atlasView } from "../atlas/view";
import type { Source } from "../data/source";
import { findView } from "../find/view";
import { headView } from "../head/view";
import { mapView } from "../map/view";
import { modelView } from "../matrix/model";
import { matrixView } from "../matrix/view";
import { neuronView } from "../neuron/view";
import { tryView } from "../tryit/view";
import { extension } from "./extension";
import { PAIR_SETTINGS } from "./pair";
import type { Setting } from "./setting";
import type { View } from "./view";
import { weigh } from "./weigh";

export const VIEWS: readonly View[] = [
  modelView,
  headView,
  matrixView,
  neuronView,
  atlasView,
  mapView,
  tryView,
  findView,
];

/** What views, and what is shown beside, keep in the address for themselves. */
export const SETTINGS: readonly Setting[] = [
  ...PAIR_SETTINGS,
  weigh,
  ...new Set(VIEWS.flatMap(({ settings }) => settings ?? [])),
];

/** The views that `source` has what they need for, with those of other packages. */
export function viewsOf(source: Source): readonly View[] {
  return [...VIEWS, ...(source.about.views ?? []).map(extension)].filter((view) => offered(view, source));
}

/** Whether `source` has what the view needs. */
export function offered(view: View, source: Source): boolean {
  switch (view.needs) {
    case "text":
      return source.maps !== undefined;
    case "neurons":
      return source.neurons !== undefined;
    case "atlas":
      return source.atlas !== undefined;
    case "predict":
      return source.predict !== undefined;
    case "find":
      return source.find !== undefined;
  }
}
