#if Web
    /// The files of the page, which are part of the program.
    enum WebPage {
        struct File: Sendable {
            let content: [UInt8]
            let type: String
        }

        /// Returns the file of a path.
        static func file(_ path: String) -> File? {
            switch path {
            case "/", "/page.html": File(content: PackageResources.page_html, type: "text/html; charset=utf-8")
            case "/page.css": File(content: PackageResources.page_css, type: "text/css; charset=utf-8")
            case "/page.js": script(PackageResources.page_js)
            case "/elements.js": script(PackageResources.elements_js)
            case "/model.js": script(PackageResources.model_js)
            case "/peripherals.js": script(PackageResources.peripherals_js)
            case "/plots.js": script(PackageResources.plots_js)
            case "/server.js": script(PackageResources.server_js)
            default: nil
            }
        }

        private static func script(_ content: [UInt8]) -> File {
            File(content: content, type: "text/javascript; charset=utf-8")
        }
    }
#endif
