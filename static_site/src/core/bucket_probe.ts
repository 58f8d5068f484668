/** Whether a page may put bytes into the bucket, tried with one byte, and which rule of the bucket is missing when it may not. */

/** What the probe needs of the API and of the browser. A request that the browser refuses throws. */
export interface ProbeDoors {
  /** Begin an upload of one byte under this key; its id, and the address that takes the byte. */
  begin(key: string): Promise<{ readonly id: string; readonly url: string }>;
  put(url: string): Promise<{ readonly ok: boolean; readonly status: number }>;
  /** Read from that address as this origin; the answer may be a refusal, but the page must be allowed to see it. */
  read(url: string): Promise<void>;
  /** Reach that address without seeing the answer. */
  reach(url: string): Promise<void>;
  /** Drop the byte. */
  drop(id: string): Promise<void>;
}

export type Verdict =
  | { readonly kind: "works" }
  | { readonly kind: "rule"; readonly rule: string; readonly what: string }
  | { readonly kind: "unreachable"; readonly what: string }
  | { readonly kind: "refused"; readonly what: string };

/** Put one byte and drop it again; what the bucket makes of it. What the API itself refuses is thrown. */
export async function probe(key: string, origin: string, doors: ProbeDoors): Promise<Verdict> {
  const { id, url } = await doors.begin(key);
  try {
    return await tried(url, origin, doors);
  } finally {
    await doors.drop(id);
  }
}

async function tried(url: string, origin: string, doors: ProbeDoors): Promise<Verdict> {
  const answer = await doors.put(url).catch(() => null);
  if (answer?.ok) return { kind: "works" };
  if (answer) return { kind: "refused", what: `The bucket answered the upload of one byte with status ${answer.status}.` };
  if (await fails(doors.reach(url))) {
    return { kind: "unreachable", what: `Nothing answers at ${new URL(url).host}. Check the connection, or a proxy between this browser and the bucket.` };
  }
  if (await fails(doors.read(url))) {
    return { kind: "rule", rule: `AllowedOrigins: ${origin}`, what: "The bucket's CORS rules do not name this page's origin, so the browser sends no file to it." };
  }
  return { kind: "rule", rule: "AllowedMethods: PUT", what: "The bucket's CORS rules let this page read but not write, so the browser sends no file to it." };
}

function fails(doing: Promise<void>): Promise<boolean> {
  return doing.then(
    () => false,
    () => true,
  );
}
