import assert from "node:assert/strict";
import { test } from "node:test";
import { csv, escaped } from "../../src/parts/save";

test("fields with commas, quotes and line ends are quoted", () => {
  assert.equal(
    csv([
      ["a", "b"],
      ["x,y", 'say "so"'],
      [1.5, null],
    ]),
    'a,b\r\n"x,y","say ""so"""\r\n1.5,\r\n',
  );
});

test("markup in a token is text", () => {
  assert.equal(escaped('<b a="1">&'), "&lt;b a=&quot;1&quot;&gt;&amp;");
});
