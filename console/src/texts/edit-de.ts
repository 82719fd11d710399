import type { editEn } from './edit-en.ts';

/** The German texts of selections, of the permission editor and of forms that change what exists. */
export const editDe: typeof editEn = {
  select: 'Auswahl',
  selectAgent: (name) => `${name} auswählen`,
  selectPage: 'Alle auf dieser Seite',
  selectedCount: (n) => `${n} ausgewählt`,
  selectedMost: 'Mehr als 100 lassen sich nicht auf einmal widerrufen.',
  clearSelection: 'Auswahl aufheben',
  revokeSelected: 'Ausgewählte widerrufen',
  agentCount: (n) => (n === 1 ? '1 Agent' : `${n} Agenten`),
  revokeSeveral: (n) => (n === 1 ? '1 Agent widerrufen?' : `${n} Agenten widerrufen?`),
};
