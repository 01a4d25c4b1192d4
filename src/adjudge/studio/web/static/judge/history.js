/** Undo and redo. */

/** Return a history that starts with a value. */
export function createHistory(first) {
  let past = [];
  let present = first;
  let future = [];
  let group = null;
  return {
    /** Add a step. Consecutive steps of one group (the letters of a comment) are undone together. */
    step(value, of = null) {
      if (of === null || of !== group) past = [...past, present];
      [present, future, group] = [value, [], of];
    },
    undo() {
      if (past.length) [past, present, future, group] = [past.slice(0, -1), past.at(-1), [present, ...future], null];
      return present;
    },
    redo() {
      if (future.length) [past, present, future, group] = [[...past, present], future[0], future.slice(1), null];
      return present;
    },
    get now() {
      return present;
    },
    get canUndo() {
      return past.length > 0;
    },
    get canRedo() {
      return future.length > 0;
    },
  };
}
