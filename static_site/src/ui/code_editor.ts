/** CodeMirror inside a shadow root: its style sheets are adopted there, so the strict policy needs no exception. */

import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { json } from "@codemirror/lang-json";
import { python } from "@codemirror/lang-python";
import { bracketMatching, HighlightStyle, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { linter, lintGutter, lintKeymap } from "@codemirror/lint";
import { unifiedMergeView } from "@codemirror/merge";
import { searchKeymap } from "@codemirror/search";
import { Compartment, EditorState, type Extension } from "@codemirror/state";
import { EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import type { Mark } from "../core/config_check";

export interface EditorWish {
  readonly text: string;
  readonly language: "json" | "python";
  readonly label: string;
  readonly readonly: boolean;
  readonly against: string | null;
  readonly check: (text: string) => readonly Mark[];
  readonly onchange: (text: string) => void;
}

export interface EditorHandle {
  /** Show this text and difference; a text that is shown already leaves the cursor alone. */
  show(text: string, against: string | null): void;
  jump(offset: number): void;
  destroy(): void;
}

const LOOKS = EditorView.theme({
  "&": { color: "var(--ink)", backgroundColor: "var(--sheet)", fontSize: "12.5px", maxHeight: "60vh" },
  ".cm-content": { fontFamily: "var(--mono)", letterSpacing: "-0.02em", caretColor: "var(--ink)" },
  ".cm-scroller": { overflow: "auto", lineHeight: "1.7" },
  ".cm-gutters": { backgroundColor: "var(--paper)", color: "var(--ink-2)", border: "0" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "color-mix(in srgb, var(--sunk) 55%, transparent)" },
  "&.cm-focused": { outline: "none" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--sunk)" },
  ".cm-tooltip": { backgroundColor: "var(--sheet)", color: "var(--ink)", border: "1px solid var(--ink)" },
  ".cm-deletedChunk .cm-chunkButtons button.way-back": { fontFamily: "inherit", fontSize: "12px", lineHeight: "1", color: "var(--ink)", backgroundColor: "var(--sheet)", border: "1px solid var(--ink)", borderRadius: "3px", padding: "4px 10px", minHeight: "24px", cursor: "pointer" },
  ".cm-deletedChunk .cm-chunkButtons button.way-back:focus-visible": { outline: "2px solid var(--act)", outlineOffset: "1px" },
  ".cm-changedLine": { backgroundColor: "var(--wash)" },
  ".cm-deletedChunk": { backgroundColor: "color-mix(in srgb, var(--bad) 10%, transparent)" },
});

const COLOURS = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.variableName)], color: "var(--w0)" },
  { tag: tags.string, color: "var(--w1)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--w3)" },
  { tag: [tags.keyword, tags.operatorKeyword], color: "var(--w2)", fontWeight: "600" },
  { tag: tags.comment, color: "var(--ink-2)", fontStyle: "italic" },
  { tag: tags.invalid, color: "var(--bad)" },
]);

export function mountEditor(host: HTMLElement, wish: EditorWish): EditorHandle {
  const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
  const difference = new Compartment();
  let against = wish.against;
  let quiet = false;
  const view = new EditorView({
    root,
    parent: root as unknown as Element,
    state: EditorState.create({
      doc: wish.text,
      extensions: [
        lineNumbers(),
        history(),
        bracketMatching(),
        indentUnit.of("  "),
        highlightActiveLine(),
        wish.language === "json" ? json() : python(),
        syntaxHighlighting(COLOURS),
        LOOKS,
        EditorView.contentAttributes.of({ "aria-label": wish.label, tabindex: "0", ...(wish.readonly ? { "aria-readonly": "true" } : {}) }),
        EditorState.readOnly.of(wish.readonly),
        // Not for the browser either: what it types before the editor takes it back has styles that the policy forbids.
        EditorView.editable.of(!wish.readonly),
        keymap.of([
          ...defaultKeymap,
          ...historyKeymap,
          ...searchKeymap,
          ...lintKeymap,
        ]),
        wish.readonly ? [] : [lintGutter(), linter((shown) => wish.check(shown.state.doc.toString()).map((mark) => ({ from: mark.from, to: mark.to, severity: mark.level, message: mark.message })), { delay: 150 })],
        EditorView.updateListener.of((update) => {
          if (update.docChanged && !quiet) wish.onchange(update.state.doc.toString());
        }),
        difference.of(merge(against)),
      ],
    }),
  });
  return {
    show(text, now) {
      const old = view.state.doc.toString();
      if (now !== against) view.dispatch({ effects: difference.reconfigure(merge((against = now))) });
      if (text === old) return;
      quiet = true;
      view.dispatch({ changes: { from: 0, to: old.length, insert: text } });
      quiet = false;
    },
    jump(offset) {
      view.dispatch({ selection: { anchor: Math.min(offset, view.state.doc.length) }, scrollIntoView: true });
      view.focus();
    },
    destroy: () => view.destroy(),
  };
}

function merge(against: string | null): Extension {
  return against === null ? [] : unifiedMergeView({ original: against, mergeControls: wayBack, gutter: false });
}

/** A hunk's one button: the generated lines again. There is nothing to accept, as the text is the user's own. */
function wayBack(type: "reject" | "accept", act: (event: MouseEvent) => void): HTMLElement {
  if (type === "accept") return document.createElement("span");
  const button = document.createElement("button");
  button.type = "button";
  button.className = "way-back";
  button.textContent = "Revert";
  button.addEventListener("click", act);
  return button;
}
