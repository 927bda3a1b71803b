extension Central {
    /// Replaces the keys of devices with private addresses, by names of the program's choice.
    ///
    /// ```swift
    /// try await central.setIdentities(["watch": watchKey, "phone": phoneKey])
    /// let watch = try await central.first(matching: .identity("watch")).peripheral
    /// ```
    ///
    /// A device changes its private address every few minutes, and each address is a peripheral with an id of its own,
    /// by which the stack connects to it. With its key, the central tells whose address it is:
    /// ``Discovery/identity`` is the device's name, and ``DiscoveryCriteria/identity(_:)`` finds the device, whatever
    /// address it has. This applies to advertisements from now on, on every radio.
    ///
    /// If several keys resolve an address, its name is the first of theirs in the order of text. Of the addresses of
    /// other devices, one of 2²⁴ is taken for one of a device. The results for the latest 4096 addresses are kept, so
    /// the keys are tried at the first advertisement with an address only.
    ///
    /// A scan that needs a name which is no longer among them ends with `invalidArgument`, as a new one would.
    ///
    /// A device with a bond needs no key: the system resolves its addresses, and its id stays the same.
    ///
    /// Throws `invalidArgument` for more than 256 keys, and keeps the former ones.
    public func setIdentities(_ identities: [String: IdentityResolvingKey]) throws(BLEError) {
        try Self.check(identities)
        self.identities = identities
        resolver = AddressResolver(identities)
        scanning.end { unknownIdentity(of: $0) }
        reconcile()
    }

    /// The maximum number of keys, all of which are tried with each new address.
    private static let maximumIdentityCount = 256

    static func check(_ identities: [String: IdentityResolvingKey]) throws(BLEError) {
        guard identities.count <= maximumIdentityCount else {
            throw BLEError(
                .invalidArgument,
                "a central has at most \(maximumIdentityCount) keys of identities, not \(identities.count)",
                isRetryable: false, remedy: "Leave out the keys of devices that are not needed.")
        }
    }

    /// Returns the name that the central's keys give to an id. Nil if none does.
    package func identity(of id: Peripheral.ID) -> String? { resolver.device(at: id) }

    /// Returns the name of the device that has a private address. Nil if no key resolves it.
    func identity(of id: Peripheral.ID, _ advertisement: Advertisement) -> String? {
        advertisement.addressType == .public ? nil : resolver.device(at: id)
    }

    /// Throws `invalidArgument` for criteria with an identity whose key is not known.
    func checkIdentities(of criteria: DiscoveryCriteria) throws(BLEError) {
        if let error = unknownIdentity(of: criteria) { throw error }
    }

    private func unknownIdentity(of criteria: DiscoveryCriteria) -> BLEError? {
        criteria.neededIdentities.first { identities[$0] == nil }.map { name in
            BLEError(
                .invalidArgument, "the central has no key of the identity “\(name)”", isRetryable: false,
                remedy: "Add the key to the identities of the central's configuration.")
        }
    }
}

extension AddressResolver<String> {
    /// Creates a resolver of names.
    init(_ identities: [String: IdentityResolvingKey]) {
        self.init(identities.sorted { $0.key < $1.key }.map { (key: $0.value, device: $0.key) })
    }
}
