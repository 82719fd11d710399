import '@fontsource-variable/ibm-plex-sans/wght.css';
import '@fontsource-variable/source-serif-4/wght.css';
import '@fontsource-variable/jetbrains-mono/wght.css';
import './styles/tokens.css';
import './styles/frame.css';
import './styles/parts.css';
import './styles/forms.css';
import './styles/editor.css';
import './mark.svg?url';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { createRoot } from 'react-dom/client';
import { loadMe, onError, queries } from './api.ts';
import { startLive } from './live.ts';
import { loadScreen, router } from './router.tsx';
import { t } from './texts/index.ts';
import { applyDensity, applyTheme } from './theme.ts';

applyTheme();
applyDensity();
const container = document.getElementById('console') as HTMLElement;
// The program of the screen is loaded while the service reports who is signed in.
loadScreen();
try {
  await loadMe();
  startLive();
  createRoot(container).render(
    <QueryClientProvider client={queries}>
      <RouterProvider router={router} />
    </QueryClientProvider>,
  );
} catch (error) {
  onError(error);
  container.textContent = t.unavailable;
}
