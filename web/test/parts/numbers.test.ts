import assert from "node:assert/strict";
import { test } from "node:test";
import { shownValue } from "../../src/atlas/filter";
import { asNumber, shown, stored, withinError } from "../../src/parts/numbers";
import { kinds, numbers } from "../fixtures";

test("numbers in words", () => {
  assert.equal(shown(0.12345), "0.123");
  assert.equal(shown(-12.345), "−12.3");
  assert.equal(shown(1234.5), "1235");
  assert.equal(shown(0), "0");
  assert.equal(shown(null), "–");
  assert.equal(shown(-0.00072), "−0.0007");
  assert.equal(shown(-0.000012), "−1.2e−5");
  assert.equal(shown(8.2e-8, 3, 0.7), "< 0.001");
  assert.equal(shown(-8.2e-8, 3, 0.7), "> −0.001");
  assert.equal(shown(8.2e-8, 3, 1e-6), "8.2e−8", "among its like it is not nothing");
  assert.equal(shownValue(numbers([4.9e-9, 0.3], { unit: "share of attention" }), 0), "< 0.001 share of attention");
  assert.equal(shownValue(numbers([0.5], { stderr: [0.01] }), 0), "0.500 ± 0.010 nats");
  assert.equal(shownValue(numbers([0.4567], { stderr: [0.0432] }), 0), "0.46 ± 0.04 nats");
  assert.equal(shownValue(numbers([-12.3456], { stderr: [2.34] }), 0), "−12.3 ± 2.3 nats");
  assert.equal(shownValue(numbers([1234], { stderr: [456] }), 0), "1234 ± 456 nats");
  assert.equal(shownValue(numbers([0.5], { stderr: [1e-5] }), 0), "0.500 ± under 0.001 nats");
  assert.equal(shownValue(numbers([null]), 0), "no value");
  assert.equal(shownValue(kinds([1], ["a", "b"]), 0), "b");
});

test("numbers have no more digits than are stored", () => {
  assert.deepEqual(
    [0, 0.00001, 0.0004, 0.0123, 1].map((weight) => asNumber(weight)),
    ["0", "<0.0001", "0.0004", "0.012", "1.000"],
  );
  const rounded = (error: number) => [0, 0.0004, 0.0123, 0.6789].map((weight) => asNumber(weight, error));
  assert.deepEqual(rounded(0.0001), ["0", "0.0004", "0.012", "0.679"]);
  assert.deepEqual(rounded(0.0005), ["0", "<0.001", "0.012", "0.679"]);
  assert.deepEqual(rounded(0.002), ["0", "<0.01", "0.01", "0.68"]);
  assert.deepEqual(rounded(0.005), ["0", "<0.01", "0.01", "0.68"]);
  assert.deepEqual(
    [0, 0.0123, -0.0004].map((change) => asNumber(change, 0.0001, true)),
    ["0", "+0.012", "−0.0004"],
  );
  assert.deepEqual(
    [0.005, 0.0008, 0.00002].map((error) => withinError(-0.123456, error)),
    ["−0.12", "−0.123", "−0.123"],
  );
  for (const error of [0, 0.0001, 0.0005, 0.002, 0.005])
    for (const weight of [0.0062, 0.1367, 0.6789])
      assert.equal(Number(withinError(weight, error)), Number(asNumber(weight, error)), "legend and note agree");
  assert.equal(stored(0.123456789, 0.002), 0.12);
  assert.equal(stored(0.123456789, 0.0000001), 0.123457);
});
