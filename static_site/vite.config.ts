import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vitest/config";

export default defineConfig({
  plugins: [svelte()],
  base: "./",
  build: { target: "es2022", assetsInlineLimit: 0, modulePreload: { polyfill: false }, sourcemap: false },
  test: {
    include: ["tests/**/*.test.ts"],
    coverage: { include: ["src/core/**/*.ts"], exclude: ["**/*.d.ts"], thresholds: { branches: 95 }, reporter: ["text-summary"] },
  },
});
