// Pictures of every page at three widths, light and dark: node browser/shots.mjs FOLDER [ADDRESS]. Without an address: of the fixture server.
import { mkdirSync } from 'node:fs'
import puppeteer from 'puppeteer-core'
import { State } from '../dev/state.mjs'
import { serve } from '../dev/server.mjs'

const folder = process.argv[2] ?? 'build/shots'
mkdirSync(folder, { recursive: true })
const fixture = process.argv[3] ? null : await serve({ state: new State({ now: Date.now() }), every: 1000 })
const base = process.argv[3] ?? `http://127.0.0.1:${fixture.port}/`
const browser = await puppeteer.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] })
const page = await browser.newPage()
page.on('console', (message) => console.log(message.type(), message.text()))
page.on('pageerror', (error) => console.log('error', error.message))
const kViews = { queues: '#/queues', workloads: '#/workloads', nodes: '#/nodes', domain: '#/nodes?domain=zone-a%20%2F%20rack-004', timeline: '#/timeline', workload: '#/workload/uid-050000', search: '#/search?q=vision-lab' }
const only = process.env.ONLY?.split(',')
for (const theme of (process.env.THEMES ?? 'light,dark').split(',')) {
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: theme }])
  for (const width of (process.env.WIDTHS ?? '1440,900,390').split(',').map(Number)) {
    await page.setViewport({ width, height: width < 500 ? 844 : 900 })
    for (const [name, hash] of Object.entries(kViews)) {
      if (only && !only.includes(name)) continue
      await page.goto('about:blank')
      await page.goto(base + hash, { waitUntil: 'domcontentloaded' })
      await new Promise((done) => setTimeout(done, Number(process.env.WAIT ?? 2500)))
      await page.screenshot({ path: `${folder}/${name}-${width}-${theme}.png` })
    }
  }
}
await browser.close()
fixture?.close()
