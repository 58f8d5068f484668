import { describe, expect, it } from "vitest";
import { probe, type ProbeDoors } from "../src/core/bucket_probe";
import { byWorkspace, totalBytes } from "../src/core/usage";

const no = () => Promise.reject(new TypeError("Failed to fetch"));

describe("the upload test", () => {
  const dropped: string[] = [];
  function doors(changes: Partial<ProbeDoors> = {}): ProbeDoors {
    dropped.length = 0;
    return {
      begin: async () => ({ id: "u1", url: "http://store:9000/bucket/key?X-Amz=1" }),
      put: async () => ({ ok: true, status: 200 }),
      read: async () => undefined,
      reach: async () => undefined,
      drop: async (id) => void dropped.push(id),
      ...changes,
    };
  }
  const tried = (changes: Partial<ProbeDoors>) => probe("k", "http://here", doors(changes));

  it("works when the byte arrives", async () => {
    expect(await tried({})).toEqual({ kind: "works" });
  });

  it("names the missing origin when the page may not even read", async () => {
    expect(await tried({ put: no, read: no })).toMatchObject({ kind: "rule", rule: "AllowedOrigins: http://here" });
  });

  it("names the missing method when the page may read and not write", async () => {
    expect(await tried({ put: no })).toMatchObject({ kind: "rule", rule: "AllowedMethods: PUT" });
  });

  it("blames no rule when nothing answers", async () => {
    expect(await tried({ put: no, read: no, reach: no })).toMatchObject({ kind: "unreachable", what: expect.stringContaining("store:9000") });
  });

  it("tells the status of a refusal", async () => {
    expect(await tried({ put: async () => ({ ok: false, status: 507 }) })).toMatchObject({ kind: "refused", what: expect.stringContaining("507") });
  });

  it.each([{}, { put: no }])("leaves nothing behind, %#", async (changes) => {
    await tried(changes);
    expect(dropped).toEqual(["u1"]);
  });
});

describe("usage", () => {
  const rows = [
    { workspace: "a", folder: "shards", objects: 1, bytes: 5 },
    { workspace: "b", folder: "model_out", objects: 1, bytes: 50 },
    { workspace: "a", folder: "shards", objects: 2, bytes: 7 },
    { workspace: "a", folder: "model", objects: 1, bytes: 20 },
  ];

  it("sums a folder that was counted in two stretches", () => {
    expect(byWorkspace(rows).find(({ workspace }) => workspace === "a")?.folders).toEqual([
      { workspace: "a", folder: "model", objects: 1, bytes: 20 },
      { workspace: "a", folder: "shards", objects: 3, bytes: 12 },
    ]);
  });

  it("has the largest workspace first", () => {
    expect(byWorkspace(rows).map(({ workspace, bytes }) => [workspace, bytes])).toEqual([["b", 50], ["a", 32]]);
  });

  it("of all is the sum", () => {
    expect([totalBytes(byWorkspace(rows)), totalBytes([])]).toEqual([82, 0]);
  });
});
