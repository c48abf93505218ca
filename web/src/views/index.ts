/** All views, in the order of their tabs. */
import type { Source } from "../source";
import { atlasView } from "./atlas";
import { headView } from "./head";
import { mapView } from "./map";
import { matrixView } from "./matrix";
import { modelView } from "./model";
import { neuronView } from "./neuron";
import { tryView } from "./tryit";
import type { View } from "./view";

export const VIEWS: readonly View[] = [headView, matrixView, modelView, neuronView, atlasView, mapView, tryView];

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
  }
}
