/** What is in the fields of Try it before anything is typed, by what the model does. */
import { REPEATED } from "../shell/reading";

export interface Sample {
  first: string;
  second: string;
  a: string;
  b: string;
  hint: string;
}

const SAMPLES: Record<string, Sample> = {
  mlm: {
    first: "Text",
    second: "Second sentence (may be empty)",
    a: "The keys to the old cabinet [MASK] on the table.",
    b: "",
    hint: "Write [MASK] where a word is to be guessed.",
  },
  qa: {
    first: "Question",
    second: "Passage",
    a: "Who found the keys?",
    b: "The keys to the old cabinet were lost for years, until Anna found them under the carpet.",
    hint: "The model marks the answer in the passage.",
  },
  classification: {
    first: "Text",
    second: "Second sentence",
    a: "The train was late again.",
    b: "Once more the train did not arrive on time.",
    hint: "The model chooses a class.",
  },
  lm: {
    first: "Text",
    second: "Written so far",
    a: REPEATED,
    b: "",
    hint: "The model predicts the next token.",
  },
};
const ANY: Sample = {
  first: "Text",
  second: "Second text (may be empty)",
  a: "The keys to the old cabinet were on the table.",
  b: "",
  hint: "This model has no prediction head: switch heads off and see how far the text's embedding moves.",
};

export function sampleFor(task: string | null | undefined): Sample {
  return SAMPLES[task ?? ""] ?? ANY;
}

/** What a model does, beside its name. */
export const TASKS: Record<string, string> = {
  mlm: "masked words",
  qa: "answers",
  classification: "classes",
  lm: "next token",
};
