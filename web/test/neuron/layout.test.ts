import assert from "node:assert/strict";
import { test } from "node:test";
import { layoutFor } from "../../src/neuron/layout";

test("columns: two strips where there is room, one on a phone, nothing overlaps", () => {
  const wide = layoutFor(840, { neurons: 64, biased: true, mapped: true, rather: "product" });
  assert.ok(wide.key && wide.product);
  assert.deepEqual(
    wide.numbers.map(({ name }) => name),
    ["dot", "bias", "score"],
  );
  assert.ok(
    wide.key.x + wide.key.width <= wide.product.x && wide.product.x + wide.product.width <= (wide.numbers[0]?.x ?? 0),
  );
  assert.ok(wide.width <= 840);
  const phone = { neurons: 64, biased: false, mapped: false };
  const products = layoutFor(366, { ...phone, rather: "product" });
  assert.equal(products.key, null);
  assert.ok(products.width <= 366);
  const keys = layoutFor(366, { ...phone, rather: "key" });
  assert.equal(keys.product, null);
  assert.deepEqual(keys.key, products.product);
  assert.ok(layoutFor(366, { ...phone, neurons: 256, rather: "product" }).width > 366); // it scrolls
});
