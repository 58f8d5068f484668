/** Which names a parameter may have: the API's rule, with its reasons. */

const EXECUTOR_ARGUMENTS = ["data_root", "adapter_module", "train_fn", "validate_fn", "submit_fn", "dataset", "manifest_file", "cache_dir_name", "out_dir_name"];
const PLATFORM_NAMES = ["CACHE_DIR", "SITE_NAME", "JOB_ID", "CURRENT_ROUND", "NUM_ROUNDS", "DEVICE", "STATE_DIR"];
const RESERVED = new Set([...EXECUTOR_ARGUMENTS, ...PLATFORM_NAMES].map((name) => name.toUpperCase()));
const KEYWORDS = new Set(
  ("False None True and as assert async await break class continue def del elif else except finally for from global if import in is " +
    "lambda nonlocal not or pass raise return try while with yield").split(" "),
);

/** Why a parameter cannot have this name (`training`: as sent to the workers; else: as the model class's argument); null when it can. */
export function parameterProblem(name: string, training: boolean): string | null {
  if (!name) return "A name is missing.";
  if (training && RESERVED.has(name.toUpperCase())) return `${name} is set by the platform; choose another name.`;
  if (!/^[\p{ID_Start}_][\p{ID_Continue}]*$/u.test(name.normalize("NFKC"))) return `${name} is not a Python name: letters, digits and _ only, not beginning with a digit.`;
  if (KEYWORDS.has(name)) return `${name} is a keyword of Python.`;
  if (name.startsWith("__") && name.endsWith("__")) return `${name} has a name that Python keeps for itself.`;
  return name === "self" || name === "class_attributes" ? `${name} has a meaning of its own in NVFLARE.` : null;
}
