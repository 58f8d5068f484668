import { expect, it } from "vitest";
import { entryOf } from "../src/core/version";

it.each([
  ['<script src="./theme.js"></script><script type="module" crossorigin src="./assets/index-a1.js"></script>', "./assets/index-a1.js"],
  ['<script type="module">inline</script>', null],
  ["<p>no console</p>", null],
])("the entry of %s is known", (html, entry) => {
  expect(entryOf(html)).toBe(entry);
});
