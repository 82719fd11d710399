import type { editEn } from './edit-en.ts';

/** Texte zu Auswahlen, zum Bearbeiten von Berechtigungen und zu Formularen, die Bestehendes ändern. */
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
