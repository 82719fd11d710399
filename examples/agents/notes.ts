// The tools of the examples, as plain functions.
export const notes = new Map([['todo', 'Water the plants']]);
export const readNote = ({ name }: { name: string }): string => notes.get(name) ?? 'There is no such note.';
export const deleteNote = ({ name }: { name: string }): string => (notes.delete(name) ? 'Deleted.' : 'Not found.');
