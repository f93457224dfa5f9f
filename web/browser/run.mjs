// Walks through the dashboard in Chromium: node browser/run.mjs [ADDRESS]. Without an address: that of the fixture server, with 100,000
// workloads and 10,000 nodes. With one: only what holds for any state, and how soon the page has what the program tells, which takes a program
// whose state changes (bench/live/README.md has one with 100,000 workloads). Times are printed and judge nothing.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import puppeteer from 'puppeteer-core'
import { State } from '../dev/state.mjs'
import { serve } from '../dev/server.mjs'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const given = process.argv[2]
const state = given ? null : new State({ now: Date.now() })
const fixture = given ? null : await serve({ state, every: 0 })
const base = given ?? `http://127.0.0.1:${fixture.port}/`
const browser = await puppeteer.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] })
const problems = []
let outside = 0

async function open(address = base) {
  const context = await browser.createBrowserContext()
  const page = await context.newPage()
  page.setDefaultTimeout(60_000)
  await page.setViewport({ width: 1440, height: 900 })
  page.on('console', (message) => { if (message.type() === 'error' && !/status of (401|404)/.test(message.text())) problems.push(message.text()) })
  page.on('pageerror', (error) => problems.push(error.message))
  page.on('request', (request) => { if (!request.url().startsWith(new URL(address).origin) && !request.url().startsWith('data:') && request.url() !== 'about:blank') ++outside })
  return page
}
const text = (page, selector) => page.$eval(selector, (element) => element.textContent)
const until = (page, words) => page.waitForFunction((wanted) => document.querySelector('main')?.textContent.includes(wanted), {}, words)
async function serious(page, name) {
  await page.evaluate(axe)  // not by a script of the page, which its policy refuses
  const found = await page.evaluate(async () => (await globalThis.axe.run(document)).violations.map((one) => ({ id: one.id, impact: one.impact, nodes: one.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)) })))
  assert.deepEqual(found.filter((one) => one.impact === 'serious' || one.impact === 'critical'), [], `${name}: axe`)
  console.log(`${name}: axe finds nothing serious${found.length ? ` (${found.map((one) => `${one.id}: ${one.impact}`).join(', ')})` : ''}`)
}
async function painted(page, name, hash, words) {
  await page.goto('about:blank')
  await page.goto(base + hash, { waitUntil: 'domcontentloaded' })
  await until(page, words)
  const at = await page.evaluate(() => ({ first: Math.round(performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0), now: Math.round(performance.now()) }))
  console.log(`${name}: first paint ${at.first} ms, its data within ${at.now} ms`)
}

// Runs in the page before its own script: notes each message of the stream, each answer to a question, and when the page shows it.
function watchUpdates() {
  const seen = globalThis.seen = { messages: 0, updates: [], tasks: [] }
  let told = 0
  let waiting = null
  const read = ReadableStreamDefaultReader.prototype.read
  ReadableStreamDefaultReader.prototype.read = function (...words) {
    return read.apply(this, words).then((got) => {
      if (typeof got.value === 'string' && got.value.includes('data:')) { told = performance.now(); ++seen.messages }
      return got
    })
  }
  const asked = new WeakMap()
  const ask = globalThis.fetch
  globalThis.fetch = async (...words) => {
    const question = { path: String(words[0]), asked: performance.now(), told }
    const answer = await ask(...words)
    asked.set(answer, question)
    return answer
  }
  // An answer that says the same as the last one, or nothing, changes no page.
  const last = new Map()
  const json = Response.prototype.json
  Response.prototype.json = async function () {
    const data = await json.call(this)
    const question = asked.get(this)
    if (question) {
      const path = question.path.replace(/(since|after)=\d+/, '')
      const words = JSON.stringify({ ...data, revision: 0 })
      const empty = /(since|after)=/.test(question.path) && data.items?.length === 0 && !data.gone?.length
      if (!empty && last.get(path) !== words) waiting = question
      last.set(path, words)
    }
    return data
  }
  addEventListener('DOMContentLoaded', () => {
    // The map of nodes is drawn: that changes no element.
    const shown = () => {
      if (!waiting) return
      const now = performance.now()
      seen.updates.push({ asked: now - waiting.asked, told: now - waiting.told })
      waiting = null
    }
    new MutationObserver(shown).observe(document.body, { childList: true, subtree: true, characterData: true })
    const fill = CanvasRenderingContext2D.prototype.fillRect
    CanvasRenderingContext2D.prototype.fillRect = function (...words) { shown(); return fill.apply(this, words) }
    new PerformanceObserver((list) => seen.tasks.push(...list.getEntries().map((one) => Math.round(one.duration)))).observe({ type: 'longtask' })
  })
}

const steps = {
  async 'queues: the tree is closed and opened with keys'() {
    const page = await open()
    await painted(page, 'queues', '#/queues', 'Guarantee')
    await page.waitForSelector('tbody tr')
    if (given) return serious(page, 'queues')
    const rows = () => page.$$eval('tbody tr', (all) => all.length)
    const all = await rows()
    assert.equal(all, state.queues.size)
    await page.focus('tbody tr[tabindex="0"]')
    await page.keyboard.press('ArrowLeft')
    await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 1)
    assert.equal(await page.$eval('tbody tr', (row) => row.getAttribute('aria-expanded')), 'false')
    await page.keyboard.press('ArrowRight')
    await page.waitForFunction((wanted) => document.querySelectorAll('tbody tr').length === wanted, {}, all)
    await page.type('main input[type=search]', 'vision')
    await page.waitForFunction((wanted) => document.querySelectorAll('tbody tr').length === wanted, {}, 6)
    return serious(page, 'queues')
  },
  async 'workloads: filtered by reason, scrolled to the end, opened, explained'() {
    const page = await open()
    await painted(page, 'workloads', '#/workloads', 'workloads')
    if (given) return serious(page, 'workloads')
    await page.waitForSelector('.body .row .name')
    await page.evaluate(() => [...document.querySelectorAll('[aria-label=Reason] button')].find((one) => one.textContent.includes('no domain')).click())
    const wanted = [...state.workloads.values()].filter((row) => row.state === 'pending' && row.reason === 'Topology').length
    await until(page, `${wanted.toLocaleString('en')} workloads`)
    assert.ok((await page.$$('.body .row')).length < 60, 'only the rows in view are drawn')
    await page.focus('.body .row[tabindex="0"]')
    await page.keyboard.press('End')
    await page.waitForFunction((last) => document.activeElement?.getAttribute('data-row') === String(last) && document.activeElement.querySelector('.name'), {}, wanted - 1)
    await page.keyboard.press('Enter')
    await until(page, 'Why it waits')
    assert.match(await text(page, '.verdict'), /must share one rack/)
    assert.match(await text(page, '.story'), /arrived/)
    await serious(page, 'workload')
    await page.goBack()
    await page.waitForSelector('.body .row')
    return serious(page, 'workloads')
  },
  async 'nodes: a card per rack, and its nodes'() {
    const page = await open()
    await painted(page, 'nodes', '#/nodes', 'devices free')
    if (given) return serious(page, 'nodes')
    await page.waitForFunction(() => document.querySelectorAll('.card').length === 250)
    await page.click('.card button')
    await page.waitForSelector('.panel .body .row')
    assert.equal((await page.$$('.panel .body .row:first-child .devices i')).length, 8)
    return serious(page, 'nodes')
  },
  async 'timeline: a decision that is made is seen at once'() {
    const page = await open()
    await painted(page, 'timeline', '#/timeline', 'Decisions')
    if (given) return serious(page, 'timeline')
    await page.waitForSelector('.body .row .name')
    const before = state.seq
    state.step(1000, 40)
    assert.ok(state.seq > before)
    const newest = state.decisions[state.decisions.length - 1].name
    await page.evaluate((name) => {
      globalThis.seenAt = 0
      new MutationObserver((_list, watch) => { if (document.querySelector('.body')?.textContent.includes(name)) { globalThis.seenAt = performance.now(); watch.disconnect() } }).observe(document.body, { childList: true, subtree: true, characterData: true })
    }, newest)
    const told = await page.evaluate(() => performance.now())
    fixture.tell()
    await page.waitForFunction(() => globalThis.seenAt > 0)
    console.log(`timeline: a change is on the page ${Math.round(await page.evaluate(() => globalThis.seenAt) - told)} ms after it was sent, the question for it included`)
    return serious(page, 'timeline')
  },
  async 'updates: what one costs the page, at each page'() {
    if (given) return
    const page = await open()
    for (const name of ['queues', 'workloads', 'nodes', 'nodes?level=all', 'timeline']) {
      await page.goto('about:blank')
      await page.goto(`${base}#/${name}`, { waitUntil: 'domcontentloaded' })
      await page.waitForFunction((least) => document.querySelectorAll('.row, tbody tr, .card').length >= least, {}, name.endsWith('all') ? 1 : 4)
      await new Promise((done) => setTimeout(done, 2500))
      await page.evaluate(() => { globalThis.tasks = []; new PerformanceObserver((list) => globalThis.tasks.push(...list.getEntries().map((one) => Math.round(one.duration)))).observe({ type: 'longtask' }) })
      for (let i = 0; i < 5; ++i) {
        state.step(1000, 40)
        fixture.tell()
        await new Promise((done) => setTimeout(done, 1100))
      }
      const tasks = await page.evaluate(() => globalThis.tasks)
      console.log(`${name}: five updates, tasks longer than 50 ms: ${tasks.length ? tasks.join(', ') : 'none'}`)
      // The map draws what has changed; drawn anew as a whole it is the same picture.
      const same = await page.evaluate(() => {
        const map = document.querySelector('.card canvas')
        if (!map) return true
        const picture = map.toDataURL()
        const redraw = (theme) => {
          if (theme) document.documentElement.dataset.theme = theme
          else delete document.documentElement.dataset.theme
          dispatchEvent(new Event('berth-theme'))
        }
        redraw('dark')
        const dark = map.toDataURL()
        redraw('')
        return dark !== picture && map.toDataURL() === picture
      })
      assert.ok(same, `${name}: the map is as it would be drawn anew`)
    }
  },
  async 'live: what the program tells is on the page'() {
    if (!given) return
    const page = await open()
    await page.evaluateOnNewDocument(watchUpdates)
    for (const name of ['queues', 'workloads', 'nodes', 'timeline']) {
      await page.goto('about:blank')
      await page.goto(`${base}#/${name}`, { waitUntil: 'domcontentloaded' })
      await page.waitForFunction(() => document.querySelectorAll('.row, tbody tr, .card').length > 0)
      await new Promise((done) => setTimeout(done, 3000))
      await page.evaluate(() => { globalThis.seen.updates = []; globalThis.seen.tasks = []; globalThis.seen.messages = 0 })
      await new Promise((done) => setTimeout(done, Number(process.env.WATCH_MS ?? 20_000)))
      const { messages, updates, tasks } = await page.evaluate(() => globalThis.seen)
      assert.ok(messages > 0, `${name}: the stream told nothing`)
      const of = (key) => updates.map((one) => Math.round(one[key])).sort((a, b) => a - b)
      const words = (key) => { const all = of(key); return all.length ? `${all[Math.floor(all.length / 2)]} ms in the middle, ${all[all.length - 1]} at most` : 'none' }
      console.log(`${name}: ${messages} messages, ${updates.length} updates; from the question to the page ${words('asked')}; from the message to the page ${words('told')}; tasks longer than 50 ms: ${tasks.length ? tasks.join(', ') : 'none'}`)
    }
  },
  async 'search: workloads, queues and nodes by a part of their names'() {
    if (given) return
    const page = await open()
    await page.goto(base, { waitUntil: 'domcontentloaded' })
    await page.waitForSelector('tbody tr')
    await page.keyboard.press('/')
    await page.keyboard.type('gpu-00017')
    await page.keyboard.press('Enter')
    await until(page, 'gpu-00017')
    await page.waitForSelector('a[href*="nodes?q=gpu-00017"]')
    return serious(page, 'search')
  },
  async 'keys, theme, narrow and dark'() {
    const page = await open()
    await page.goto(base, { waitUntil: 'domcontentloaded' })
    await page.waitForSelector('main h1')
    await page.keyboard.press('g')
    await page.keyboard.press('n')
    await page.waitForFunction(() => location.hash === '#/nodes')
    await page.keyboard.press('?')
    await page.waitForSelector('dialog[open]')
    await page.keyboard.press('Escape')
    await page.click('header button[aria-label^="Theme"]')
    await page.click('header button[aria-label^="Theme"]')
    await page.waitForFunction(() => document.documentElement.dataset.theme === 'dark')
    for (const width of [390, 900]) {
      await page.setViewport({ width, height: 844 })
      for (const name of ['queues', 'workloads', 'nodes', 'timeline']) {
        await page.evaluate((hash) => { location.hash = hash }, `#/${name}`)
        await new Promise((done) => setTimeout(done, 1500))
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
        assert.ok(wide <= 0, `${name} at ${width}: the page scrolls sideways by ${wide}`)
        if (width === 390) await serious(page, `${name}, dark, ${width} wide`)
      }
    }
  },
  async 'rights: a user sees the names of its own namespaces only'() {
    if (given) return
    const guarded = await serve({ state, signIn: true, every: 0 })
    const address = `http://127.0.0.1:${guarded.port}/`
    const page = await open(address)
    const bodies = []
    page.on('response', (response) => { if (response.url().includes('/api/')) response.text().then((body) => bodies.push(body), () => {}) })
    await page.goto(address, { waitUntil: 'domcontentloaded' })
    await page.waitForSelector('input[type=password]')
    await serious(page, 'sign in')
    await page.type('input[type=password]', 'nonsense')
    await page.keyboard.press('Enter')
    await until(page, 'not known')
    await page.$eval('input[type=password]', (field) => { field.value = ''; field.dispatchEvent(new Event('input')) })
    await page.type('input[type=password]', 'vision')
    await page.keyboard.press('Enter')
    await until(page, 'You see the workloads of the namespaces')
    for (const hash of ['#/workloads', '#/workloads?state=running', '#/timeline', '#/search?q=train']) {
      await page.evaluate((to) => { location.hash = to }, hash)
      await page.waitForSelector('.body .row .name, .found .name')
      assert.doesNotMatch(await text(page, 'main'), /team-(?!vision)/)
    }
    await page.evaluate(() => { location.hash = '#/nodes' })
    await until(page, 'You may not list nodes')
    const other = [...state.workloads.values()].find((row) => !row.name.startsWith('team-vision/'))
    await page.evaluate((uid) => { location.hash = `#/workload/${uid}` }, other.uid)
    await until(page, 'no such workload')
    assert.ok(bodies.length > 4)
    for (const body of bodies) assert.doesNotMatch(body, /team-(?!vision)/)
    guarded.close()
  },
}

let failed = 0
for (const [name, step] of Object.entries(steps)) {
  try {
    await step()
    console.log(`ok ${name}`)
  } catch (error) {
    ++failed
    console.log(`FAILED ${name}: ${error.message}`)
  }
}
if (outside > 0) { ++failed; console.log(`FAILED: ${outside} requests to other servers`) }
if (problems.length > 0) { ++failed; console.log(`FAILED: ${[...new Set(problems)].join('\n')}`) }
await browser.close()
fixture?.close()
process.exit(failed ? 1 : 0)
