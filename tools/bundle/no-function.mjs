// Replaces the Function constructor: the interpreter makes code generation unnecessary, and the policy forbids it.
export function noFunction() {
  throw new Error('code generation is switched off in the report');
}
