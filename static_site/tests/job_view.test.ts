import { describe, expect, it } from "vitest";
import type { Shapes } from "../src/core/api";
import { attention, bestRound, doing, EMPTY, painted, placeOf, roundRows, siteOrder, type JobView, type Live, type Picture, type Worker } from "../src/core/job_view";
import { linesOf, merged, newestPieces, printable, weight } from "../src/core/log_lines";

function worker(over: Partial<Worker> = {}): Worker {
  return { site: "site-1", attempt: 1, phase: "training", joined: true, done: false, failed: null, last_seen: null, round: 0, step: null, of: null, ...over } as Worker;
}

function live(over: Partial<Live> = {}): Live {
  return { seq: 1, next_in_ms: 1000, ...over } as Live;
}

function round(over: Partial<Shapes["RoundView"]> = {}): Shapes["RoundView"] {
  return { round: 0, accepted: ["site-1"], refused: {}, seconds: 2, samples: { server: 40, "site-1": 30, "site-2": 10 }, metrics: { server: { loss: 0.5 } }, ...over };
}

describe("a job's picture", () => {
  it("puts the server first and counts sites as numbers", () => {
    const answer = live({ workers: [worker({ site: "site-10" }), worker({ site: "site-2" }), worker({ site: "server" })] });
    expect(painted(EMPTY, answer).workers.map(({ site }) => site)).toEqual(["server", "site-2", "site-10"]);
    expect(siteOrder("elsewhere")).toBe(Number.MAX_SAFE_INTEGER);
  });

  it("replaces a worker by its newer state", () => {
    const once = painted(EMPTY, live({ workers: [worker()] }));
    expect(painted(once, live({ workers: [worker({ done: true })] })).workers.map(({ done }) => done)).toEqual([true]);
  });

  it("keeps what an answer does not repeat", () => {
    const job = { id: "job-1" } as Shapes["JobView"];
    expect(painted(painted(EMPTY, live({ job })), live()).job).toBe(job);
  });

  it("counts rounds, log segments and warnings", () => {
    const feed = [{ kind: "round_ended" }, { kind: "log" }, { kind: "warning", code: "worker_lost", sentence: "site-2 was lost" }].map((change, index) => ({ seq: index, at: "", change }));
    const after = painted(EMPTY, live({ feed } as unknown as Partial<Live>));
    expect([after.roundsEnded, after.segments, after.warnings]).toEqual([1, 1, ["site-2 was lost"]]);
  });

  it.each([
    [worker({ failed: { code: "training_raised", sentence: "it raised" } as Worker["failed"] }), "failed"],
    [worker({ done: true }), "done"],
    [worker({ step: 2, of: 5 }), "training, 2 of 5"],
    [worker({ phase: "uploading", step: 2, of: 5 }), "uploading"],
    [worker(), "training"],
  ])("%# says what a worker does", (each, words) => expect(doing(each)).toBe(words));
});

function feed(...changes: object[]): Live {
  return live({ feed: changes.map((change, index) => ({ seq: index, at: "", change })) } as unknown as Partial<Live>);
}

describe("what needs attention", () => {
  const silence = (site: string) => ({ kind: "warning", code: "worker_silent", site, sentence: `${site} has been silent` });
  const job = (over: Partial<JobView> = {}) => ({ state: "RUNNING", ending: null, workers: 3, minimum: 2, lost: 0, ...over }) as JobView;
  const sites = [worker({ site: "server" }), worker(), worker({ site: "site-2" })];
  const at = (picture: Picture) => attention(picture, Date.parse("2026-05-01T10:10:00Z")).map(({ what, todo }) => `${what} ${todo}`);
  const seen = (over: Partial<JobView>, ...changes: object[]) => at(painted(painted(EMPTY, live({ job: job(over), workers: sites })), feed(...changes)));

  it("is a silent worker, and whether the round needs it", () => {
    expect(seen({}, silence("site-2"))).toEqual(["site-2 has been silent The round can finish without it: 2 of 3 results are enough."]);
    expect(seen({ lost: 1 }, silence("site-2"))).toEqual(["site-2 has been silent The job needs it: 2 of 3 results are the least."]);
    expect(seen({ state: "PENDING" }, silence("site-1"))).toEqual(["site-1 has been silent The job needs it: all workers must join."]);
    expect(seen({}, silence("server"))).toEqual(["server has been silent Without the central server the job cannot go on."]);
  });

  it.each([{ kind: "phase", site: "site-2" }, { kind: "metrics", site: "site-2" }, { kind: "log", source: "site-2" }])("is over when the worker shows itself: %j", (change) => expect(seen({}, silence("site-2"), change)).toEqual([]));

  it("stays when another one shows itself", () => expect(seen({}, silence("site-2"), { kind: "phase", site: "site-1" })).toHaveLength(1));

  it.each<Partial<JobView>>([{ state: "FINISHED" }, { ending: { code: "cancelled_by_user" } as JobView["ending"] }])("is nobody once the job ends: %j", (over) => expect(seen(over, silence("site-2"))).toEqual([]));

  it("is nobody before the job is known", () => expect(at(EMPTY)).toEqual([]));

  it("is a worker that shows no progress, and for how long", () => {
    const stuck = worker({ stuck_since: "2026-05-01T10:00:00Z" });
    expect(at(painted(EMPTY, live({ job: job(), workers: [stuck, worker({ site: "site-2", done: true })] })))[0]).toMatch(/^site-1 has shown no progress for 10 min\. It lives/);
  });
});

describe("a reason's place", () => {
  const reason = (over: Partial<Shapes["Reason"]>) => ({ code: "training_raised", sentence: "", fault: "your_code", advice: "", site: null, file: null, line: null, round: null, evidence: [], ...over }) as Shapes["Reason"];
  it.each([
    [reason({ site: "site-2", file: "scripts/model_def.py", line: 31, round: 0 }), "site-2 · scripts/model_def.py, line 31 · round 1 · at fault: your code"],
    [reason({ site: "server", file: "configs/meta.json", fault: "your_settings" }), "central server · configs/meta.json · at fault: your settings"],
    [reason({ fault: "platform" }), "at fault: the platform, not you"],
    [reason({ fault: "provider" }), "at fault: the provider"],
    [reason({ fault: "nobody" }), ""],
  ])("%# is said in words", (each, words) => expect(placeOf(each)).toBe(words));
});

describe("the rounds", () => {
  it("are counted from 1, with the samples of all workers", () => {
    expect(roundRows([round({ refused: { "site-3": "NaN" } })])).toEqual([{ round: 1, loss: 0.5, accepted: 1, refused: [["site-3", "NaN"]], samples: 40, seconds: 2 }]);
  });

  it.each([
    [{ server: { avg_loss: 1 } }, 1],
    [{ server: { dice_loss: 2 } }, 2],
    [{ server: { accuracy: 1 } }, null],
    [{ server: { loss: null } }, null],
    [{}, null],
  ])("find the loss in %j", (metrics, loss) => expect(roundRows([round({ metrics, seconds: null })])[0]?.loss).toBe(loss));

  it("have a best one when any has a loss", () => {
    const losses = [0.5, 0.2, null, 0.3].map((loss, index) => round({ round: index, metrics: { server: { loss } } }));
    expect([bestRound(roundRows(losses)), bestRound([])]).toEqual([2, null]);
  });
});

describe("a log", () => {
  it("has a line for each JSON line, and shows any other as it is", () => {
    expect(linesOf("site-1", '{"t": "1", "level": "INFO", "text": "hello"}\n\nodd\n{"level": 1}\n{"text": "bare"}\n')).toEqual([
      { source: "site-1", at: "1", level: "INFO", text: "hello" },
      { source: "site-1", at: "", level: "", text: "odd" },
      { source: "site-1", at: "", level: "", text: '{"level": 1}' },
      { source: "site-1", at: "", level: "", text: "bare" },
    ]);
  });

  it("shows no colour codes, no control characters, and of a progress bar its last state", () => {
    expect(printable("\u001b[31mred\u001b[0m\u0007 10%\r 20%\r")).toBe(" 20%");
  });

  it("is in the order of time, and of the sources where the times are equal", () => {
    const line = (source: string, at: string) => ({ source, at, level: "", text: "" });
    expect(merged([[line("a", "2"), line("a", "3")], [line("b", "1"), line("b", "2")]]).map(({ source, at }) => source + at)).toEqual(["b1", "a2", "b2", "a3"]);
  });

  it.each([["error", "bad"], ["CRITICAL", "bad"], ["warning", "warn"], ["info", ""], ["", ""]])("marks %s as %s", (level, mark) => expect(weight(level)).toBe(mark));

  it("is read from its newest pieces, enough of each source", () => {
    const piece = (source: string, number: number) => ({ source, number, lines: 10 });
    const pieces = [piece("a", 1), piece("a", 2), piece("b", 1), piece("a", 3)];
    expect(newestPieces(pieces, 15).map(({ source, number }) => source + number)).toEqual(["a2", "b1", "a3"]);
  });
});
