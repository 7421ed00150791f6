/* How sure the model is, in words: the one scale, which docs/confidence.md explains. */

export const UNSURE = 0.5; // an answer with a lower confidence is a guess
export const DOUBTFUL = 0.1; // an answer with a lower one is hardly ever right

const SCALE = [
  [0.95, "almost surely right"],
  [0.8, "probably right"], // no short form that its text leaves open has so much
  [UNSURE, "may be right"],
  [0, "a guess"],
];

/** A confidence in words. */
export const inWords = (confidence) => SCALE.find(([least]) => confidence >= least)[1];
