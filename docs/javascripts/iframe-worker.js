/* Search without a server. A browser starts no worker for a page that was opened from a folder (file://), so there the
   search runs in a hidden frame that answers the same messages. The site's theme looks for a file of this name. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.append(frame)
      const inside = frame.contentWindow
      const answer = data => {
        const message = new MessageEvent("message", { data })
        this.dispatchEvent(message)
        if (this.onmessage) this.onmessage(message)
      }
      inside.postMessage = data => setTimeout(answer, 0, structuredClone(data))
      inside.importScripts = (...files) => Promise.all(files.map(file => load(inside, new URL(file, address))))
      this.ready = load(inside, new URL(address, location))
      this.frame = frame
    }

    postMessage(data) {
      const copy = structuredClone(data)
      this.ready.then(() => {
        const inside = this.frame.contentWindow
        inside.dispatchEvent(new inside.MessageEvent("message", { data: copy }))
      })
    }

    terminate() {
      this.frame.remove()
    }
  }

  function load(inside, address) {
    return new Promise((done, failed) => {
      const script = inside.document.createElement("script")
      script.src = String(address)
      script.onload = done
      script.onerror = failed
      inside.document.body.append(script)
    })
  }
}
