/// Two slots and files in memory, as a device with MCUboot has them.
public actor MemoryFirmwareStorage: FirmwareStorage {
    /// What the storage contains, to be stored elsewhere.
    public struct Contents: Hashable, Sendable {
        /// What the next reset does with the secondary slot.
        public enum Pending: Hashable, Sendable {
            /// Nothing.
            case none
            /// Starts it once.
            case test
            /// Starts it from then on.
            case permanent
        }

        /// The running image. Nil for none, as if it was programmed without MCUboot.
        public var primary: FirmwareImage?
        /// The other image.
        public var secondary: FirmwareImage?
        /// Whether the running image stays. If not, the next reset returns to the other one.
        public var isConfirmed: Bool
        /// What the next reset does.
        public var pending: Pending
        /// The files, by their paths.
        public var files: [String: [UInt8]]

        /// Creates contents.
        public init(
            primary: FirmwareImage? = nil, secondary: FirmwareImage? = nil, isConfirmed: Bool = true,
            pending: Pending = .none, files: [String: [UInt8]] = [:]
        ) {
            self.primary = primary
            self.secondary = secondary
            self.isConfirmed = isConfirmed
            self.pending = pending
            self.files = files
        }
    }

    /// What the storage contains. Bytes of an upload that is not complete are not part of it.
    public private(set) var contents: Contents
    private let slotSize: Int
    private let fileCapacity: Int
    private let onChange: @Sendable (Contents) async throws -> Void
    private var upload: [UInt8]?
    /// The change that was begun last.
    private var lastChange: Task<Void, any Error>?

    /// The maximum number of files, and of bytes in a file's path.
    public static let maximumFiles = 64, maximumNameLength = 255

    /// Creates a storage.
    ///
    /// - Parameters:
    ///   - contents: what the storage contains at first.
    ///   - slotSize: the size of each slot, in bytes, at least 32.
    ///   - fileCapacity: the maximum number of bytes in all files.
    ///   - onChange: called after each change, to store the contents. Calls follow each other in the order of the
    ///     changes: a call that does not return keeps later changes waiting. If it throws, the change is undone, and
    ///     the central's request fails: an ``SMPFailure`` is the answer, and another error is
    ///     ``SMPFailure/Code/unknown``.
    public init(
        _ contents: Contents = Contents(), slotSize: Int = 1 << 20, fileCapacity: Int = 1 << 20,
        onChange: @escaping @Sendable (Contents) async throws -> Void = { _ in }
    ) {
        self.contents = contents
        self.slotSize = slotSize
        self.fileCapacity = fileCapacity
        self.onChange = onChange
    }

    /// Does what MCUboot does at a reset: exchanges the slots if an image is pending, or if the running one was not
    /// confirmed. The part of an upload is lost. Throws what `onChange` throws.
    public func reset() async throws {
        upload = nil
        try await change { contents in
            switch contents.pending {
            case .none where contents.isConfirmed || contents.secondary == nil: return
            case .none: contents.isConfirmed = true
            case .test: contents.isConfirmed = contents.primary == nil
            case .permanent: contents.isConfirmed = true
            }
            (contents.primary, contents.secondary) = (contents.secondary, contents.primary)
            contents.pending = .none
        }
    }

    /// Changes the contents after all changes before, and undoes that if they cannot be stored.
    private func change(_ body: @escaping @Sendable (inout Contents) throws -> Void) async throws {
        let before = lastChange
        let change = Task {
            _ = await before?.result
            let present = contents
            var changed = contents
            try body(&changed)
            guard changed != present else { return }
            contents = changed
            do {
                try await onChange(changed)
            } catch {
                contents = present
                throw error
            }
        }
        lastChange = change
        try await change.value
    }

    // MARK: Images

    /// Returns the images in the slots.
    public func imageSlots() -> [ImageSlot] {
        var slots: [ImageSlot] = []
        if let image = contents.primary {
            slots.append(
                ImageSlot(
                    slot: 0, version: image.version.description, hash: image.hash,
                    isConfirmed: contents.isConfirmed, isActive: true))
        }
        if let image = contents.secondary {
            slots.append(
                ImageSlot(
                    slot: 1, version: image.version.description, hash: image.hash,
                    isPending: contents.pending != .none, isConfirmed: !contents.isConfirmed,
                    isPermanent: contents.pending == .permanent))
        }
        return slots
    }

    /// Returns the sizes of the slots.
    public func slotSizes() -> [ImageSlotSize] {
        [ImageSlotSize(slot: 0, bytes: slotSize), ImageSlotSize(slot: 1, bytes: slotSize, uploadImage: 0)]
    }

    /// Erases the secondary slot.
    public func erase(slot: Int) async throws {
        guard slot == 1 else { throw SMPFailure.invalidSlot }
        try await change { try $0.eraseSecondary(SMPFailure.imageAlreadyPending) }
        upload = nil
    }

    /// Sets what the next reset starts.
    public func setState(hash: [UInt8]?, isConfirmed: Bool) async throws {
        try await change { contents in
            switch hash {
            case nil where !isConfirmed: throw SMPFailure.invalidHash
            case nil, contents.primary?.hash:
                guard contents.primary != nil else { throw SMPFailure.noImage }
                guard isConfirmed else { throw SMPFailure.activeImageCannotBeTested }
                contents.isConfirmed = true
            case contents.secondary?.hash: contents.pending = isConfirmed ? .permanent : .test
            default: throw SMPFailure.hashNotFound
            }
        }
    }

    /// Prepares the secondary slot.
    public func beginUpload(image: Int, length: Int) async throws {
        guard image == 0 else { throw SMPFailure.invalidSlot }
        guard (FirmwareImage.headerSize...max(FirmwareImage.headerSize, slotSize)).contains(length) else {
            throw length > slotSize ? SMPFailure.imageTooLarge : SMPFailure.invalidImageHeader
        }
        try await change { try $0.eraseSecondary(SMPFailure.noFreeSlot) }
        upload = []
    }

    /// Stores bytes of the upload.
    public func write(_ bytes: [UInt8], at offset: Int, image: Int) throws {
        guard upload?.count == offset, offset + bytes.count <= slotSize else { throw SMPFailure.flashWriteFailed }
        upload?.append(contentsOf: bytes)
    }

    /// Returns the bytes of the upload.
    public func uploadedBytes(image: Int) -> [UInt8] { upload ?? [] }

    /// Puts the image into the secondary slot.
    public func finishUpload(_ firmware: FirmwareImage, image: Int) async throws {
        upload = nil
        try await change { $0.secondary = firmware }
    }

    // MARK: Files

    /// Returns the length of a file.
    public func fileLength(_ name: String) throws -> Int { try file(name).count }

    /// Returns bytes of a file.
    public func readFile(_ name: String, at offset: Int, maximumLength: Int) throws -> [UInt8] {
        let file = try file(name)
        guard (0...file.count).contains(offset) else { throw SMPFailure.offsetPastEndOfFile }
        return Array(file[offset...].prefix(max(0, maximumLength)))
    }

    private func file(_ name: String) throws -> [UInt8] {
        guard let file = contents.files[name] else { throw SMPFailure.fileNotFound }
        return file
    }

    /// Stores bytes of a file.
    public func writeFile(_ name: String, _ bytes: [UInt8], at offset: Int, length: Int?) async throws {
        guard !name.isEmpty, name.utf8.count <= Self.maximumNameLength else { throw SMPFailure.invalidFileName }
        try await change { [fileCapacity] contents in
            let present = contents.files[name]?.count
            guard present != nil || contents.files.count < Self.maximumFiles else { throw SMPFailure.fileWriteFailed }
            let others = contents.files.values.reduce(0) { $0 + $1.count } - (present ?? 0)
            let needed = length ?? (offset + bytes.count)
            guard needed <= fileCapacity - others, offset + bytes.count <= needed else {
                throw SMPFailure.fileWriteFailed
            }
            if offset == 0 {
                contents.files[name] = bytes
            } else {
                guard present == offset else { throw SMPFailure.invalidFileOffset }
                contents.files[name]?.append(contentsOf: bytes)
            }
        }
    }
}

extension MemoryFirmwareStorage.Contents {
    /// Erases the secondary slot. Throws a failure while it is in use: while its image is pending, or while it is the
    /// one to return to.
    fileprivate mutating func eraseSecondary(_ failure: SMPFailure) throws {
        if secondary != nil, pending != .none || !isConfirmed { throw failure }
        secondary = nil
    }
}
