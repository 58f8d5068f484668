/** What can go wrong between the page and the API, each with what a person can do about it. */

/** The API refused a request, and says why. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly hint: string = "",
    readonly fields: Readonly<Record<string, string>> = {},
    readonly requestId: string = "",
  ) {
    super(message);
    this.name = "Refused";
  }
}

/** No answer came: the machine is offline, or nothing listens there. */
export class Unreachable extends Error {
  constructor(message = "The API does not answer.") {
    super(message);
    this.name = "Unreachable";
  }
}

/** The session ended and was not renewed. */
export class SignedOut extends Error {
  constructor() {
    super("You are signed out.");
    this.name = "SignedOut";
  }
}

/** What a problem looks like on a page. */
export interface Problem {
  readonly what: string;
  readonly todo: string;
  readonly requestId: string;
}

/** What failed, what to do, and the request's id, of anything that was thrown. */
export function problemOf(error: unknown): Problem {
  if (error instanceof Refused) return { what: sentence(error.message), todo: sentence(error.hint), requestId: error.requestId };
  if (error instanceof Unreachable) return { what: error.message, todo: "Check the connection, then try again. Nothing you typed is lost.", requestId: "" };
  if (error instanceof SignedOut) return { what: error.message, todo: "Sign in again; this page stays as it is.", requestId: "" };
  return { what: sentence(error instanceof Error ? error.message : String(error)), todo: "Try again; if it stays, reload the page.", requestId: "" };
}

/** Whether all that is missing is the user's bucket. */
export function needsBucket(error: unknown): boolean {
  return error instanceof Refused && error.code === "no_bucket";
}

/** With a capital and a full stop, as on a page; a first word that is a name or a path is left as it is. */
function sentence(text: string): string {
  const ended = /[.!?…]$/.test(text) || text === "" ? text : `${text}.`;
  return /^[a-z]+[ ,]/.test(ended) ? ended.charAt(0).toUpperCase() + ended.slice(1) : ended;
}
