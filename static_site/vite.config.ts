import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vitest/config";

export default defineConfig({
  plugins: [svelte()],
  base: "./",
  build: {
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    sourcemap: false,
    rolldownOptions: {
      output: {
        // By name, so that each has its own budget and stays in the browser's cache when a page around it changes.
        codeSplitting: {
          groups: [
            { name: "editor", test: /node_modules[\\/](@codemirror|@lezer|@marijn|style-mod|w3c-keyname|crelt)[\\/]|src[\\/]ui[\\/]code_editor/ },
            { name: "validator", test: /node_modules[\\/]@cfworker[\\/]/ },
          ],
        },
      },
    },
  },
  test: {
    include: ["tests/**/*.test.ts"],
    coverage: { include: ["src/core/**/*.ts"], exclude: ["**/*.d.ts"], thresholds: { branches: 95 }, reporter: ["text-summary"] },
  },
});
