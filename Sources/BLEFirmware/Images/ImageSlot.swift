internal import BLE

/// An image on a device, and what the bootloader will do with it.
public struct ImageSlot: Hashable, Sendable {
    /// The number of the image, 0 unless the device has several, such as one for each core.
    public var image: Int
    /// The slot: 0 for the primary one, which usually runs, 1 for the secondary one, which usually receives uploads.
    public var slot: Int
    /// The version as the device sends it, such as `1.2.3`; see ``FirmwareVersion/init(_:)``.
    public var version: String
    /// The hash that identifies the image. Nil if the device does not send it.
    public var hash: [UInt8]?
    /// Whether the image can be booted.
    public var isBootable: Bool
    /// Whether the image is started by the next reset.
    public var isPending: Bool
    /// Whether the image stays, also after a further reset.
    public var isConfirmed: Bool
    /// Whether the image is running.
    public var isActive: Bool
    /// Whether a pending image stays without being confirmed.
    public var isPermanent: Bool

    /// Creates a slot.
    public init(
        image: Int = 0, slot: Int, version: String, hash: [UInt8]?, isBootable: Bool = true, isPending: Bool = false,
        isConfirmed: Bool = false, isActive: Bool = false, isPermanent: Bool = false
    ) {
        self.image = image
        self.slot = slot
        self.version = version
        self.hash = hash
        self.isBootable = isBootable
        self.isPending = isPending
        self.isConfirmed = isConfirmed
        self.isActive = isActive
        self.isPermanent = isPermanent
    }
}

extension ImageSlot {
    init(_ item: CBOR) throws(BLEError) {
        guard let fields = item.map, let slot = fields["slot"]?.integer else { throw .lacking(field: "slot") }
        guard let version = fields["version"]?.text else { throw .lacking(field: "version") }
        func flag(_ name: String) -> Bool { fields[name]?.bool ?? false }
        self.init(
            image: fields["image"]?.integer ?? 0, slot: slot, version: version, hash: fields["hash"]?.bytes,
            isBootable: flag("bootable"), isPending: flag("pending"), isConfirmed: flag("confirmed"),
            isActive: flag("active"), isPermanent: flag("permanent"))
    }

    var fields: CBOR {
        var fields: CBORMap = [
            "image": CBOR(image), "slot": CBOR(slot), "version": .text(version), "bootable": .bool(isBootable),
            "pending": .bool(isPending), "confirmed": .bool(isConfirmed), "active": .bool(isActive),
            "permanent": .bool(isPermanent),
        ]
        if let hash { fields["hash"] = .bytes(hash) }
        return .map(fields)
    }
}

/// The size of a slot.
public struct ImageSlotSize: Hashable, Sendable {
    /// The number of the image.
    public var image: Int
    /// The slot.
    public var slot: Int
    /// The size, in bytes.
    public var bytes: Int
    /// The image number with which an upload goes into this slot. Nil if none does.
    public var uploadImage: Int?

    /// Creates a size.
    public init(image: Int = 0, slot: Int, bytes: Int, uploadImage: Int? = nil) {
        self.image = image
        self.slot = slot
        self.bytes = bytes
        self.uploadImage = uploadImage
    }
}
