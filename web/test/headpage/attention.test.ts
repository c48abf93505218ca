import assert from "node:assert/strict";
import { test } from "node:test";
import { shareBar, splitFeatures } from "../../src/headpage/attention";

test("windows of distance apart from the rest", () => {
  const feature = (name: string) => ({ feature: name, value: 0, uniform: null });
  const { windows, others } = splitFeatures([
    feature("sep"),
    feature("w00"),
    feature("6.25 to 12.5% of the text away"),
    feature("self"),
  ]);
  assert.deepEqual(
    windows.map((one) => one.feature),
    ["w00", "6.25 to 12.5% of the text away"],
  );
  assert.deepEqual(
    others.map((one) => one.feature),
    ["sep", "self"],
  );
});

test("shares have 95 % intervals", () => {
  const bar = shareBar({ role: "commas", value: 0.5, low: 0.3, high: 0.7, uniform: 0.2 });
  assert.deepEqual([bar.low, bar.high, bar.mark], [0.3, 0.7, 0.2]);
  assert.equal(shareBar({ role: "commas", value: 0.5, low: null, high: null, uniform: null }).low, null);
});
