#if LineEditing
    import BLE
    import CEdit

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #endif

    /// A line while it is edited, on the thread that reads it.
    final class EditedLine {
        private let editor: LineEditor
        private let vocabulary: ShellVocabulary
        private var size = Terminal.size(of: STDERR_FILENO)
        private var typed = TypedScalars()
        /// The prompt as libedit reads it.
        private let promptBuffer = UnsafeMutableBufferPointer<wchar_t>.allocate(capacity: 256)

        init(_ editor: LineEditor, _ vocabulary: ShellVocabulary) {
            (self.editor, self.vocabulary) = (editor, vocabulary)
        }

        deinit { promptBuffer.deallocate() }

        /// Whether the line was given up, which Ctrl-C does.
        var isCancelled: Bool { editor.isCancelled }

        /// Returns the prompt, which stays valid until the next call.
        func promptText() -> UnsafeMutablePointer<wchar_t>? {
            let scalars = editor.prompt.unicodeScalars.prefix(promptBuffer.count - 1)
            _ = promptBuffer.update(fromContentsOf: String(String.UnicodeScalarView(scalars)).wide)
            return promptBuffer.baseAddress
        }

        /// Returns the next character; nil at the end of the input.
        func nextScalar(_ edit: OpaquePointer) -> Unicode.Scalar? {
            while true {
                if let scalar = typed.next() { return scalar }
                guard let byte = editor.nextByte(announce: { show($0, edit) }) else { return nil }
                resizeIfNeeded(edit)
                typed.append(byte)
            }
        }

        private func resizeIfNeeded(_ edit: OpaquePointer) {
            let now = Terminal.size(of: STDERR_FILENO)
            guard now?.columns != size?.columns || now?.rows != size?.rows else { return }
            size = now
            el_resize(edit)
        }

        private func show(_ messages: [String], _ edit: OpaquePointer) {
            Progress.write("\r\u{1B}[J" + messages.map { $0 + "\r\n" }.joined())
            ble_edit_refresh(edit)
        }

        /// Completes the word before the cursor, or shows what is possible. Returns whether anything is.
        func complete(_ edit: OpaquePointer) -> Bool {
            guard let line = el_wline(edit)?.pointee, let start = line.buffer, let cursor = line.cursor,
                let end = line.lastchar
            else { return false }
            let text = String(wide: UnsafeBufferPointer(start: start, count: cursor - start))
            guard let completion = ShellCompletion(of: text, in: vocabulary) else { return false }
            let replaced = text.suffix(completion.replacedLength)
            guard replaced == completion.replacement else {
                el_deletestr(edit, Int32(replaced.unicodeScalars.count))
                el_winsertstr(edit, completion.replacement.wide)
                return true
            }
            list(
                completion.candidates, below: String(wide: UnsafeBufferPointer(start: start, count: end - start)), text)
            ble_edit_refresh(edit)
            return true
        }

        /// Shows words below the line that is drawn. The cursor is behind the beginning of the line.
        private func list(_ words: [String], below line: String, _ beginning: String) {
            let (columns, rows) = size ?? (80, 24)
            let prompt = editor.prompt
            let left = (prompt + line).rows(columns: columns) - (prompt + beginning).rows(columns: columns)
            let lines = ShellColumns.lines(words, columns: columns, rows: rows - 3)
            Progress.write(
                String(repeating: "\n", count: left) + "\r\n" + lines.map { $0 + "\r\n" }.joined())
        }
    }

    extension EditedLine {
        /// Returns the line that is edited.
        static func of(_ edit: OpaquePointer?) -> EditedLine? {
            guard let edit, let data = ble_edit_data(edit) else { return nil }
            return Unmanaged<EditedLine>.fromOpaque(data).takeUnretainedValue()
        }
    }

    extension String {
        /// The text as C has it, with its end.
        var wide: [wchar_t] { unicodeScalars.map { wchar_t($0.value) } + [0] }

        init(wide scalars: UnsafeBufferPointer<wchar_t>) {
            var view = UnicodeScalarView()
            view.append(contentsOf: scalars.map { Unicode.Scalar(UInt32($0)) ?? "\u{FFFD}" })
            self.init(view)
        }
    }
#endif
