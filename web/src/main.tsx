// The dashboard: its frame, its pages by address, its keys. The server's side: src/scheduler/board/.
import { render } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import 'uplot/dist/uPlot.min.css'
import './styles.css'
import { get, hasToken, setToken, type About } from './api'
import { clock } from './format'
import { Nodes } from './pages/nodes'
import { Queues } from './pages/queues'
import { Search } from './pages/search'
import { Timeline } from './pages/timeline'
import { Workload } from './pages/workload'
import { Workloads } from './pages/workloads'
import { go, link, store, usePlace, useStore } from './store'

const kPages = [
  { key: 'queues', title: 'Queues', letter: 'q' }, { key: 'workloads', title: 'Workloads', letter: 'w' },
  { key: 'nodes', title: 'Nodes', letter: 'n' }, { key: 'timeline', title: 'Timeline', letter: 't' },
]
const kThemes = ['auto', 'light', 'dark'] as const
type Theme = (typeof kThemes)[number]
const kThemeWords = { auto: 'as the system', light: 'light', dark: 'dark' }

function readTheme(): Theme {
  try { return kThemes.find((theme) => theme === localStorage.getItem('berth-theme')) ?? 'auto' } catch { return 'auto' }
}
function showTheme(theme: Theme) {
  if (theme === 'auto') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
  try { localStorage.setItem('berth-theme', theme) } catch { /* it lasts as long as the page */ }
  dispatchEvent(new Event('berth-theme'))
}

function Frame() {
  const place = usePlace()
  const { summary, live, refused } = useStore()
  const [about, setAbout] = useState<About | null>(null)
  const [signedIn, setSignedIn] = useState(hasToken())
  const [theme, setTheme] = useState<Theme>(readTheme())
  const [text, setText] = useState('')
  const search = useRef<HTMLInputElement>(null)
  const help = useRef<HTMLDialogElement>(null)
  const main = useRef<HTMLElement>(null)

  useEffect(() => { showTheme(theme) }, [theme])
  useEffect(() => { get<About>('about').then(setAbout, () => setAbout({ api: 1, version: '', sign_in: false })) }, [])
  useEffect(() => { if (about && (!about.sign_in || signedIn)) store.start() }, [about, signedIn])
  useEffect(() => {
    const title = kPages.find((page) => page.key === place.page)?.title ?? (place.page === 'workload' ? 'Workload' : 'Search')
    document.title = `${title} · Berth`
  }, [place.page])
  useEffect(() => {
    let after = 0
    const onKey = (event: KeyboardEvent) => {
      const at = event.target as HTMLElement
      if (event.ctrlKey || event.metaKey || event.altKey || /^(input|select|textarea)$/i.test(at.tagName)) return
      if (event.key === '/') { event.preventDefault(); search.current?.focus() }
      else if (event.key === '?') help.current?.showModal()
      else if (event.key === 'g') after = performance.now()
      else if (performance.now() - after < 1500) {
        after = 0
        const page = kPages.find((one) => one.letter === event.key)
        if (page) { go(page.key); main.current?.focus() }
      }
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])

  const needsToken = about?.sign_in && (!signedIn || refused)
  const status = !summary ? 'connecting' : live ? `live, as of ${clock(summary.as_of)}` : `no connection, as of ${clock(summary.as_of)}`
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); main.current?.focus() }}>Skip to the page</a>
      <header>
        <a class="brand" href={link('queues')}>Berth</a>
        <nav aria-label="Pages">
          {kPages.map((page) => <a key={page.key} href={link(page.key)} {...(place.page === page.key || (page.key === 'workloads' && place.page === 'workload') ? { 'aria-current': 'page' as const } : {})}>{page.title}</a>)}
        </nav>
        <form role="search" onSubmit={(event) => { event.preventDefault(); go('search', '', { q: text }); main.current?.focus() }}>
          <input ref={search} type="search" aria-label="Search workloads, queues and nodes" placeholder="Search ( / )" value={text} onInput={(event) => setText(event.currentTarget.value)} />
        </form>
        <span class={`live ${live ? 'on' : 'off'}`}><i aria-hidden="true" /><span>{status}</span></span>
        <button class="icon" title={`Theme: ${kThemeWords[theme]}`} aria-label={`Theme: ${kThemeWords[theme]}. Change`} onClick={() => setTheme((was) => kThemes[(kThemes.indexOf(was) + 1) % kThemes.length] ?? 'auto')}>{theme === 'dark' ? '☾' : theme === 'light' ? '☀' : '◑'}</button>
        <button class="icon" aria-label="Keys" title="Keys ( ? )" onClick={() => help.current?.showModal()}>?</button>
      </header>
      <main id="main" tabIndex={-1} ref={main}>
        {!about ? <p class="pad quiet">Connecting to the scheduler</p>
          : needsToken ? <SignIn refused={refused?.message ?? ''} onToken={(token) => { setToken(token); store.refused = null; setSignedIn(true); store.start() }} />
            : <>
              {refused ? <p class="problem" role="alert">{refused.message}</p> : null}
              {summary && !summary.sees_all ? <p class="note">You see the workloads of the namespaces whose pods you may list.</p> : null}
              {place.page === 'workloads' ? <Workloads place={place} />
                : place.page === 'workload' ? <Workload place={place} />
                  : place.page === 'nodes' ? <Nodes place={place} />
                    : place.page === 'timeline' ? <Timeline place={place} />
                      : place.page === 'search' ? <Search place={place} />
                        : <Queues place={place} />}
            </>}
      </main>
      <dialog ref={help} aria-labelledby="keys-title">
        <h2 id="keys-title">Keys</h2>
        <dl>
          <div><dt><kbd>/</kbd></dt><dd>search</dd></div>
          {kPages.map((page) => <div key={page.key}><dt><kbd>g</kbd> <kbd>{page.letter}</kbd></dt><dd>{page.title}</dd></div>)}
          <div><dt><kbd>↑</kbd> <kbd>↓</kbd></dt><dd>row by row in a list or the tree</dd></div>
          <div><dt><kbd>←</kbd> <kbd>→</kbd></dt><dd>close or open a queue</dd></div>
          <div><dt><kbd>Enter</kbd></dt><dd>open the row</dd></div>
          <div><dt><kbd>?</kbd></dt><dd>this list</dd></div>
        </dl>
        <p class="quiet">{about?.version} · <a href="licences.txt">licences</a></p>
        <form method="dialog"><button class="button" autofocus>Close</button></form>
      </dialog>
    </>
  )
}

function SignIn({ refused, onToken }: { refused: string; onToken: (token: string) => void }) {
  const [token, setText] = useState('')
  return (
    <section class="sign-in" aria-labelledby="title">
      <h1 id="title">Sign in</h1>
      <p>Paste a token of the cluster. The API server says whose it is, and which namespaces that user may see.</p>
      <pre><code>kubectl create token NAME -n NAMESPACE</code></pre>
      <form onSubmit={(event) => { event.preventDefault(); if (token.trim()) onToken(token) }}>
        <label>Token <input type="password" autocomplete="off" value={token} onInput={(event) => setText(event.currentTarget.value)} /></label>
        <button class="button">Sign in</button>
      </form>
      {refused ? <p class="problem" role="alert">{refused}</p> : null}
      <p class="quiet">It stays in this tab and is forgotten when the tab closes.</p>
    </section>
  )
}

const root = document.getElementById('app')
if (root) { root.textContent = ''; render(<Frame />, root) }
