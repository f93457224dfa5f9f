// Pictures of the top of a simulator's report, light and dark: node browser/report.mjs REPORT.html FOLDER. Makes FOLDER/report-light.png
// and FOLDER/report-dark.png.
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import puppeteer from 'puppeteer-core'

const [report, folder] = process.argv.slice(2)
if (!report || !folder) {
  console.error('usage: node browser/report.mjs REPORT.html FOLDER')
  process.exit(2)
}
const browser = await puppeteer.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] })
const page = await browser.newPage()
await page.setViewport({ width: 1280, height: 1360 })
for (const theme of ['light', 'dark']) {
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: theme }])
  await page.goto(pathToFileURL(resolve(report)).href, { waitUntil: 'load' })
  await page.waitForSelector('figure.time .plot path')
  await new Promise((done) => setTimeout(done, 500))
  const path = `${folder}/report-${theme}.png`
  await page.screenshot({ path })
  console.log(path)
}
await browser.close()
