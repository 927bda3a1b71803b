import BLE
import BLEAssignedNumbers
import BLEProfiles
import Testing

extension CharacteristicKeyTests {
    @Test(
        arguments: [
            (Characteristic.temperature.key, "Temperature"),
            (Characteristic.humidity.key, "Humidity"),
            (Characteristic.pressure.key, "Pressure"),
            (Characteristic.dewPoint.key, "Dew Point"),
            (Characteristic.heatIndex.key, "Heat Index"),
            (Characteristic.windChill.key, "Wind Chill"),
            (Characteristic.elevation.key, "Elevation"),
            (Characteristic.apparentWindSpeed.key, "Apparent Wind Speed"),
            (Characteristic.apparentWindDirection.key, "Apparent Wind Direction"),
            (Characteristic.trueWindSpeed.key, "True Wind Speed"),
            (Characteristic.trueWindDirection.key, "True Wind Direction"),
            (Characteristic.gustFactor.key, "Gust Factor"),
            (Characteristic.irradiance.key, "Irradiance"),
            (Characteristic.rainfall.key, "Rainfall"),
            (Characteristic.uvIndex.key, "UV Index"),
            (Characteristic.pollenConcentration.key, "Pollen Concentration"),
            (Characteristic.magneticDeclination.key, "Magnetic Declination"),
            (Characteristic.co2Concentration.key, "CO2 Concentration"),
            (Characteristic.vocConcentration.key, "VOC Concentration"),
            (Characteristic.methaneConcentration.key, "Methane Concentration"),
            (Characteristic.ammoniaConcentration.key, "Ammonia Concentration"),
            (Characteristic.carbonMonoxideConcentration.key, "Carbon Monoxide Concentration"),
            (Characteristic.nitrogenDioxideConcentration.key, "Nitrogen Dioxide Concentration"),
            (Characteristic.nonMethaneVOCConcentration.key, "Non-Methane Volatile Organic Compounds Concentration"),
            (Characteristic.ozoneConcentration.key, "Ozone Concentration"),
            (Characteristic.pm1Concentration.key, "Particulate Matter - PM1 Concentration"),
            (Characteristic.pm2_5Concentration.key, "Particulate Matter - PM2.5 Concentration"),
            (Characteristic.pm10Concentration.key, "Particulate Matter - PM10 Concentration"),
            (Characteristic.sulfurDioxideConcentration.key, "Sulfur Dioxide Concentration"),
            (Characteristic.sulfurHexafluorideConcentration.key, "Sulfur Hexafluoride Concentration"),
            (Characteristic.barometricPressureTrend.key, "Barometric Pressure Trend"),
            (Characteristic.magneticFluxDensity2D.key, "Magnetic Flux Density - 2D"),
            (Characteristic.magneticFluxDensity3D.key, "Magnetic Flux Density - 3D"),
            (Characteristic.descriptorValueChanged.key, "Descriptor Value Changed"),
        ])
    func `a key of a sensor is for what its name says`(_ key: CharacteristicKey, _ characteristic: String) {
        #expect(key.service?.name == "Environmental Sensing")
        #expect(key.characteristic.name == characteristic)
    }

    @Test(
        arguments: [
            (Characteristic.batteryCriticalStatus.key, "Battery", "Battery Critical Status"),
            (Characteristic.batteryEnergyStatus.key, "Battery", "Battery Energy Status"),
            (Characteristic.batteryTimeStatus.key, "Battery", "Battery Time Status"),
            (Characteristic.batteryHealthStatus.key, "Battery", "Battery Health Status"),
            (Characteristic.batteryHealthInformation.key, "Battery", "Battery Health Information"),
            (Characteristic.batteryInformation.key, "Battery", "Battery Information"),
            (Characteristic.estimatedServiceDate.key, "Battery", "Estimated Service Date"),
            (Characteristic.currentTime.key, "Current Time", "Current Time"),
            (Characteristic.localTimeInformation.key, "Current Time", "Local Time Information"),
            (Characteristic.referenceTimeInformation.key, "Current Time", "Reference Time Information"),
            (Characteristic.dayDateTime.key, nil, "Day Date Time"),
            (Characteristic.exactTime256.key, nil, "Exact Time 256"),
            (Characteristic.timeZone.key, nil, "Time Zone"),
            (Characteristic.dstOffset.key, nil, "DST Offset"),
            (Characteristic.immediateAlertLevel.key, "Immediate Alert", "Alert Level"),
            (Characteristic.linkLossAlertLevel.key, "Link Loss", "Alert Level"),
            (Characteristic.txPowerLevel.key, "Tx Power", "Tx Power Level"),
            (Characteristic.udi.key, "Device Information", "UDI for Medical Devices"),
        ])
    func `a key of an everyday service is for what its name says`(
        _ key: CharacteristicKey, _ service: String?, _ characteristic: String
    ) {
        #expect(key.service?.name == service)
        #expect(key.characteristic.name == characteristic)
    }
}
