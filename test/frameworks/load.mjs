// Node resolves the frameworks from this folder, which contains their package.json.
export { generateText, isStepCount, tool } from 'ai';
export { MockLanguageModelV4 } from 'ai/test';
