/// A format of advertising data: that of a type, or one that is described at run time.
public struct AdvertisementFormat: Sendable {
    /// The name of a format, and the data of an advertisement that has it.
    public struct Description: Hashable, Sendable {
        /// The name, such as `RuuviTag`.
        public let name: String
        /// The data that has the format. Nil if it is not the data of one company or one service.
        public let source: DataSource?

        /// Creates a description.
        public init(_ name: String, _ source: DataSource? = nil) { (self.name, self.source) = (name, source) }
    }

    /// A part of an advertisement that has a format of its owner.
    public enum DataSource: Hashable, Sendable {
        /// The manufacturer data of a company.
        case company(UInt16)
        /// The data of a service.
        case service(BluetoothUUID)

        /// Returns this data of an advertisement. Nil if it has no data of this company or service.
        public func data(in advertisement: Advertisement) -> [UInt8]? {
            switch self {
            case .company(let company): advertisement.data(ofCompany: company)
            case .service(let service): advertisement.data(ofService: service)
            }
        }
    }

    /// The name and the data.
    public let description: Description
    private let value: @Sendable (Advertisement, DeviceID?) throws(AdvertisementFormatError) -> KnownAdvertisement?

    /// Creates the format of a type.
    public init<Value: AdvertisementDecodable>(_ type: Value.Type) {
        let description = type.format
        self.description = description
        value = { (advertisement, _) throws(AdvertisementFormatError) in
            guard let value = try type.decode(advertisement) else { return nil }
            return KnownAdvertisement(format: description, value: value, readings: value.readings)
        }
    }

    /// Creates a format that is described at run time.
    ///
    /// - Parameter readings: returns the values in an advertisement. Returns nil if the advertisement does not have the
    ///   format, and throws if its data is invalid.
    public init(
        _ description: Description,
        readings: @escaping @Sendable (Advertisement) throws(AdvertisementFormatError) -> [SensorReading]?
    ) {
        self.description = description
        value = { (advertisement, _) throws(AdvertisementFormatError) in
            guard let readings = try readings(advertisement) else { return nil }
            return KnownAdvertisement(format: description, value: readings, readings: readings)
        }
    }

    /// Creates a format that also depends on the sender, such as one with keys of devices.
    ///
    /// - Parameter decode: returns the value in an advertisement of a sender, which is nil if it is not known, and the
    ///   readings. Returns nil if the advertisement does not have the format, and throws if its data is invalid.
    public init<Value: Sendable>(
        _ description: Description,
        decode:
            @escaping @Sendable (Advertisement, DeviceID?) throws(AdvertisementFormatError) -> (
                Value, [SensorReading]
            )?
    ) {
        self.description = description
        value = { (advertisement, sender) throws(AdvertisementFormatError) in
            guard let (value, readings) = try decode(advertisement, sender) else { return nil }
            return KnownAdvertisement(format: description, value: value, readings: readings)
        }
    }

    /// Decodes an advertisement. Returns nil if it does not have the format. Throws if its data is invalid.
    ///
    /// - Parameter sender: the peripheral that has sent it. Nil if it is not known.
    public func decode(
        _ advertisement: Advertisement, from sender: DeviceID? = nil
    ) throws(AdvertisementFormatError) -> KnownAdvertisement? {
        try value(advertisement, sender)
    }
}

/// What an advertisement says in a known format.
public struct KnownAdvertisement: Sendable {
    /// The format.
    public let format: AdvertisementFormat.Description
    /// The value of the format's type, such as a `RuuviTag`. For a format that is described at run time, ``readings``.
    public let value: any Sendable
    /// What sensors measured, with units. Empty for a format that has no such values.
    public let readings: [SensorReading]
}

extension Advertisement {
    /// Returns what the advertisement says in the first of the formats that it has. Nil if it has none of them, or only
    /// invalid data.
    ///
    /// ```swift
    /// let formats = AdvertisementFormats([.beacons, .bthome])
    /// for try await found in central.discoveries() {
    ///     guard let known = found.advertisement.known(formats) else { continue }
    ///     print(found.peripheral, known.format.name, known.readings)
    /// }
    /// ```
    ///
    /// For formats that depend on the sender, see ``Discovery/known(_:)``.
    public func known(_ formats: AdvertisementFormats) -> KnownAdvertisement? { formats.first(in: self) }
}

extension Discovery {
    /// Returns what the advertisement of this peripheral says in the first of the formats that it has. Nil if it has
    /// none of them, or only invalid data.
    public func known(_ formats: AdvertisementFormats) -> KnownAdvertisement? {
        formats.first(in: advertisement, from: id)
    }
}
