// What eslint asks of the page's JavaScript, and of that of its tests.
import js from "@eslint/js";
import globals from "globals";

const strict = {
  "array-callback-return": "error",
  "consistent-return": "error",
  "default-case-last": "error",
  eqeqeq: "error",
  "func-style": ["error", "declaration", { allowArrowFunctions: true }],
  "max-lines": ["error", 400],
  "no-duplicate-imports": "error",
  "no-else-return": "error",
  "no-eval": "error",
  "no-implicit-coercion": "error",
  "no-lonely-if": "error",
  "no-new-wrappers": "error",
  "no-param-reassign": ["error", { props: false }],
  "no-promise-executor-return": "error",
  "no-self-compare": "error",
  "no-shadow": "error",
  "no-template-curly-in-string": "error",
  "no-unneeded-ternary": "error",
  "no-unused-vars": ["error", { ignoreRestSiblings: true }],
  "no-unreachable-loop": "error",
  "no-useless-concat": "error",
  "no-useless-rename": "error",
  "no-useless-return": "error",
  "no-var": "error",
  "object-shorthand": "error",
  "prefer-const": "error",
  "prefer-rest-params": "error",
  "prefer-template": "error",
  yoda: "error",
};

export default [
  js.configs.recommended,
  { rules: strict, linterOptions: { reportUnusedDisableDirectives: "error" } },
  {
    files: ["apps/lesson/page/**/*.js", "apps/report/**/*.js"],
    languageOptions: { globals: globals.browser },
  },
  {
    files: ["tests/**"],
    languageOptions: { globals: { ...globals.browser, ...globals.node, pageTests: "readonly" } },
  },
];
