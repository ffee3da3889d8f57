import { execFileSync } from "node:child_process";
import { playwright } from "@vitest/browser-playwright";
import { defineConfig } from "vitest/config";

/** The system's Chromium: a browser download of Playwright's own is neither wanted nor possible offline. */
function chromium(): string | undefined {
  const named = process.env.BERTLENS_CHROMIUM;
  if (named) return named;
  for (const name of ["chromium", "chromium-browser", "google-chrome"]) {
    try {
      return execFileSync("which", [name], { encoding: "utf8", stdio: "pipe" }).trim();
    } catch {
      // not this one
    }
  }
  return undefined;
}

const executablePath = chromium();

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "unit",
          environment: "happy-dom",
          include: ["test/unit/**/*.test.ts"],
        },
      },
      {
        optimizeDeps: { include: ["axe-core"] },
        test: {
          name: "browser",
          include: ["test/browser/**/*.test.ts"],
          browser: {
            enabled: true,
            headless: true,
            screenshotFailures: false,
            viewport: { width: 1280, height: 900 },
            provider: playwright({
              launchOptions: {
                ...(executablePath ? { executablePath } : {}),
                args: [
                  "--no-sandbox",
                  "--disable-gpu",
                  "--disable-quic",
                  "--no-first-run",
                  "--disable-background-networking",
                  "--disable-component-update",
                  "--disable-sync",
                ],
              },
            }),
            instances: [{ browser: "chromium" }],
          },
        },
      },
    ],
  },
});
