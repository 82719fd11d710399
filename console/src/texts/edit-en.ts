/** Texts of selections, of the permission editor and of forms that change what exists. */
export const editEn = {
  select: 'Select',
  selectAgent: (name: string) => `Select ${name}`,
  selectPage: 'All on this page',
  selectedCount: (n: number) => `${n} selected`,
  selectedMost: 'More than 100 cannot be revoked at once.',
  clearSelection: 'Clear selection',
  revokeSelected: 'Revoke selected',
  agentCount: (n: number) => (n === 1 ? '1 agent' : `${n} agents`),
  revokeSeveral: (n: number) => (n === 1 ? 'Revoke 1 agent?' : `Revoke ${n} agents?`),
};
