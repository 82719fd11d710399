/** A backup that cannot be made or restored. The message is complete sentences for the operator. */
export class BackupError extends Error {
  override readonly name = 'BackupError';
}
