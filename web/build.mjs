// Builds the dashboard: node build.mjs [--tests]. One script, one style sheet and one page in dist/; with --tests the component tests in
// build/tests/, for node's own test runner.
import { build } from 'esbuild'
import { cpSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))
const common = { bundle: true, format: 'esm', target: 'es2022', jsx: 'automatic', jsxImportSource: 'preact', absWorkingDir: here, logLevel: 'warning' }

if (process.argv.includes('--tests')) {
  rmSync(join(here, 'build/tests'), { recursive: true, force: true })
  const tests = readdirSync(join(here, 'test')).filter((name) => name.endsWith('.test.ts'))
  await build({ ...common, entryPoints: tests.map((name) => `test/${name}`), outdir: 'build/tests', outExtension: { '.js': '.mjs' }, platform: 'node' })
} else {
  const dist = join(here, 'dist')
  rmSync(dist, { recursive: true, force: true })
  mkdirSync(dist, { recursive: true })
  await build({ ...common, entryPoints: { app: 'src/main.tsx' }, outdir: 'dist', minify: true, legalComments: 'none' })
  cpSync(join(here, 'src/index.html'), join(dist, 'index.html'))
  const licence = (name) => {
    const about = JSON.parse(readFileSync(join(here, 'node_modules', name, 'package.json'), 'utf8'))
    return `${name} ${about.version} (${about.license})\n\n${readFileSync(join(here, 'node_modules', name, 'LICENSE'), 'utf8').trim()}\n`
  }
  writeFileSync(join(dist, 'licences.txt'), ['preact', 'uplot'].map(licence).join('\n----\n\n'))
  for (const name of readdirSync(dist)) console.log(`dist/${name} ${readFileSync(join(dist, name)).length} bytes`)
}
