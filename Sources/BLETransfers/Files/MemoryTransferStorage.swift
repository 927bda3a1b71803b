public import BLE

/// Files in memory, which arrive from centrals and are sent to them.
public actor MemoryTransferStorage: TransferStorage, TransferLibrary {
    private struct Part {
        /// Empty while the file was only offered.
        var bytes: [UInt8] = []
        /// The device that sends the file. Nil if none does.
        var peer: DeviceID?
        /// The parts are discarded in this order.
        let number: Int

        var isInUse: Bool { peer != nil }
    }

    private struct Entry {
        let file: TransferFile
        let bytes: [UInt8]
        /// Received files are discarded in this order. Nil for those that are kept.
        var number: Int?
    }

    private let capacity: Int
    private let maximumFiles: Int
    private let onFile: (@Sendable (TransferFile, [UInt8]) async -> Void)?
    private var entries: [String: Entry] = [:]
    /// For each name, at most one has bytes and is not in use.
    private var parts: [TransferFile: Part] = [:]
    private var lastNumber = 0

    /// Creates a storage.
    ///
    /// - Parameters:
    ///   - files: the contents of files, by their names.
    ///   - capacity: the maximum number of bytes in all files and parts. A part counts with what has arrived, so that
    ///     an offer takes no room from others. Parts that are not being received are discarded to make room for bytes
    ///     that arrive, the oldest first. A file that then has no room ends with ``TransferRefusal/noRoom``.
    ///   - maximumFiles: the maximum number of names of files and parts.
    ///   - onFile: called with each file that is complete. Files that it has taken are discarded to make room, too.
    public init(
        files: [String: [UInt8]] = [:], capacity: Int = 1 << 24, maximumFiles: Int = 64,
        onFile: (@Sendable (_ file: TransferFile, _ bytes: [UInt8]) async -> Void)? = nil
    ) {
        self.capacity = capacity
        self.maximumFiles = maximumFiles
        self.onFile = onFile
        entries = files.reduce(into: [:]) { entries, file in
            entries[file.key] = Entry(file: TransferFile(name: file.key, bytes: file.value), bytes: file.value)
        }
    }

    /// The contents of the complete files, by their names.
    public var files: [String: [UInt8]] { entries.mapValues(\.bytes) }

    /// The number of bytes that have arrived of files that are not complete, by their names.
    public var partLengths: [String: Int] {
        parts.reduce(into: [:]) { lengths, part in
            if !part.value.bytes.isEmpty { lengths[part.key.name] = part.value.bytes.count }
        }
    }

    // MARK: Receiving

    /// Returns the number of bytes that are there. Nothing else is discarded for the rest before it arrives.
    public func begin(_ file: TransferFile, isNew: Bool, from peer: DeviceID) throws -> Int {
        if !isNew, let entry = entries[file.name], entry.file == file { return file.length }
        guard file.length <= capacity else { throw TransferRefusal.tooLarge }
        let inUse = parts.filter { $0.key.name == file.name && $0.value.isInUse }
        guard inUse.allSatisfy({ $0.key == file && $0.value.peer == peer }) else { throw TransferRefusal.busy }
        guard couldHaveRoom(for: file) else { throw TransferRefusal.noRoom }
        lastNumber += 1
        if isNew { parts[file] = nil }
        parts[file, default: Part(number: lastNumber)].peer = peer
        return parts[file]?.bytes.count ?? 0
    }

    /// Whether there would be room for a file if everything that may be discarded were.
    private func couldHaveRoom(for file: TransferFile) -> Bool {
        let kept = entries.filter { $0.value.number == nil }
        let inUse = parts.filter { $0.value.isInUse && $0.key != file }
        let used = kept.values.reduce(0) { $0 + $1.bytes.count } + inUse.values.reduce(0) { $0 + $1.bytes.count }
        let names = Set(kept.keys).union(inUse.keys.map(\.name)).union([file.name])
        return names.count <= maximumFiles && file.length <= capacity - used
    }

    /// Discards parts that are not in use, and then files that were taken, until there is room for bytes of a file.
    private func makeRoom(for count: Int, of file: TransferFile) throws {
        while !hasRoom(for: count, of: file) {
            let idle = parts.filter { !$0.value.isInUse }
            if let oldest = idle.min(by: { $0.value.number < $1.value.number }) {
                parts[oldest.key] = nil
            } else if let oldest = entries.filter({ $0.value.number != nil }).min(by: {
                $0.value.number ?? 0 < $1.value.number ?? 0
            }) {
                entries[oldest.key] = nil
            } else {
                throw TransferRefusal.noRoom
            }
        }
    }

    private func hasRoom(for count: Int, of file: TransferFile) -> Bool {
        let names = Set(entries.keys).union(parts.filter { !$0.value.bytes.isEmpty }.keys.map(\.name))
        let used = entries.values.reduce(0) { $0 + $1.bytes.count } + parts.values.reduce(0) { $0 + $1.bytes.count }
        return names.union([file.name]).count <= maximumFiles && count <= capacity - used
    }

    /// Returns bytes of a part or a complete file.
    public func read(_ file: TransferFile, at offset: Int, maximumLength: Int) throws -> ArraySlice<UInt8> {
        let bytes = parts[file]?.bytes ?? entries[file.name]?.bytes
        guard let bytes, bytes.indices.contains(offset) else { throw TransferRefusal.storageFailed }
        return bytes[offset...].prefix(maximumLength)
    }

    /// Appends bytes to a part. The first of them discard other parts of the name.
    public func write(_ bytes: [UInt8], at offset: Int, of file: TransferFile) throws {
        guard parts[file]?.bytes.count == offset, bytes.count <= file.length - offset else {
            throw TransferRefusal.storageFailed
        }
        if offset == 0 {
            for other in parts.keys where other.name == file.name && parts[other]?.isInUse == false {
                parts[other] = nil
            }
        }
        try makeRoom(for: bytes.count, of: file)
        parts[file]?.bytes += bytes
    }

    /// Makes the part a file, in place of an earlier one of the name.
    public func finish(_ file: TransferFile) async throws {
        guard let part = parts[file] else {
            guard entries[file.name]?.file == file else { throw TransferRefusal.storageFailed }
            return
        }
        guard part.bytes.count == file.length else { throw TransferRefusal.storageFailed }
        if file.length == 0 { try makeRoom(for: 0, of: file) }
        parts[file] = nil
        entries[file.name] = Entry(file: file, bytes: part.bytes, number: onFile == nil ? nil : part.number)
        await onFile?(file, part.bytes)
    }

    /// Discards the part.
    public func discard(_ file: TransferFile) {
        parts[file] = nil
        if entries[file.name]?.file == file { entries[file.name] = nil }
    }

    /// Keeps the part until its room is needed.
    public func suspend(_ file: TransferFile) {
        if parts[file]?.bytes.isEmpty == true { parts[file] = nil } else { parts[file]?.peer = nil }
    }

    // MARK: Sending

    /// Returns a complete file.
    public func file(named name: String, for central: DeviceID) throws -> (TransferFile, any TransferSource) {
        guard let entry = entries[name] else { throw TransferRefusal.notFound }
        return (entry.file, ByteSource(bytes: entry.bytes))
    }
}
