/// A request of a central that a host has answered.
package struct AnsweredRequest: Sendable {
    /// What the central has done.
    package let access: AttributeAccess
    /// The attribute's service, characteristic and, if it is one, descriptor.
    package let service: BluetoothUUID
    package let characteristic: BluetoothUUID
    package let descriptor: BluetoothUUID?
    package let request: AttributeRequest
    /// The value that was read, or the part of one that was written.
    package let value: [UInt8]
    /// The error with which it was rejected.
    package let error: ATTError?
}

extension PeripheralHost {
    /// Tells of each request that is answered, in order, on the host's executor. Of a value that is read in parts, the
    /// first part is told.
    package func observeRequests(_ observer: @escaping @Sendable (AnsweredRequest) -> Void) {
        requestObserver = observer
    }

    func observingRead(_ attribute: ServedAttribute, _ request: AttributeRequest) async throws(ATTError) -> [UInt8] {
        let observation = observe(.read, attribute, request.central)
        do throws(ATTError) {
            guard requestObserver != nil || isTracing else {
                let value = try await read(attribute, request)
                ended(observation, nil)
                return value
            }
            let value = try await traced("answering a read", attribute, request.central, offset: request.offset) {
                () throws(ATTError) in try await read(attribute, request)
            }
            ended(observation, nil)
            if request.offset == 0 { tell(.read, attribute, request, value, nil) }
            return value
        } catch {
            ended(observation, .attributeError)
            tell(.read, attribute, request, [], error)
            throw error
        }
    }

    func observingWrite(
        _ value: [UInt8], to attribute: ServedAttribute, _ request: AttributeRequest
    ) async throws(ATTError) {
        let observation = observe(.write, attribute, request.central)
        let name = request.isPrepared ? "answering a prepared write" : "answering a write"
        do throws(ATTError) {
            guard requestObserver != nil || isTracing else {
                try await write(value, to: attribute, request)
                return ended(observation, nil)
            }
            try await traced(name, attribute, request.central, offset: request.offset, writes: value) {
                () throws(ATTError) in try await write(value, to: attribute, request)
            }
            ended(observation, nil)
            if !request.isPrepared { tell(.write, attribute, request, value, nil) }
        } catch {
            ended(observation, .attributeError)
            tell(.write, attribute, request, value, error)
            throw error
        }
    }

    private func tell(
        _ access: AttributeAccess, _ attribute: ServedAttribute, _ request: AttributeRequest, _ value: [UInt8],
        _ error: ATTError?
    ) {
        guard let observer = requestObserver, let place = place(of: attribute) else { return }
        observer(
            AnsweredRequest(
                access: access, service: place.service, characteristic: place.characteristic,
                descriptor: place.descriptor, request: request, value: value, error: error))
    }

    /// Returns the types of an attribute's service, characteristic and, if it is one, descriptor.
    func place(
        of attribute: ServedAttribute
    ) -> (service: BluetoothUUID, characteristic: BluetoothUUID, descriptor: BluetoothUUID?)? {
        guard let definition = registrations.definition(attribute.application),
            let characteristic = definition.characteristic(at: attribute)
        else { return nil }
        let descriptor = characteristic.descriptorType(at: attribute)
        return (definition.services[attribute.service].uuid, characteristic.uuid, descriptor)
    }

    /// Returns the characteristic, also for one of its descriptors. Nil if it is not served.
    func characteristic(_ attribute: ServedAttribute) -> CharacteristicDefinition? {
        registrations.definition(attribute.application)?.characteristic(at: attribute)
    }
}
